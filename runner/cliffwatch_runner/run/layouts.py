"""Links kernels and Go programs in the layouts that a plan's boots need."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, host_failed, kernel_failed
from cliffwatch.samples import CONTROL, LUCK, MATCHED
from cliffwatch_runner.build.kernel import Kernel, build_kernel
from cliffwatch_runner.build.layouts.matched import Matched
from cliffwatch_runner.build.programs.program import SuiteProgram, link_program
from cliffwatch_runner.plan.plan import confirming_plan, drop_matched
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.run.built_run import BuiltArm, BuiltRun, RunTools
from cliffwatch_runner.run.programs import BuiltPrograms
from cliffwatch_runner.source.access import Trust
from cliffwatch_runner.source.revision import Revision


def seeds_of_first_stage(run: PlannedRun, arm: str, trust: Trust) -> tuple[int, ...]:
    """Returns the layouts in which an arm's kernel is linked right after its build.

    Those of the second stage are linked once it begins, except for a tree from outside: its build output is
    gone by then. Should it have a further look, it is built again.
    """
    plan = run.plan
    if trust == "outside" and plan.stages is not None and plan.cases:
        plan = confirming_plan(plan, (0,), arms=plan.arms, boots=plan.stages.looks[0].boots)
    return plan.layouts_of(_names(run, arm))


def _names(run: PlannedRun, arm: str) -> tuple[str, ...]:
    """Returns the arms that boot this arm's kernel: the control boots the first arm's, in its own layouts."""
    return (arm, CONTROL) if arm == run.subjects[0].arm else (arm,)


def check_layouts(run: PlannedRun, arms: Mapping[str, BuiltArm]) -> PlannedRun | Failure:
    """Returns the run in one layout, with a note, if a kernel cannot be linked in others.

    Returns a failure if the user asked for layouts.
    """
    why = next(
        (
            f"{name}: {built.kernel.one_layout}"
            for name, built in arms.items()
            if isinstance(built.kernel, Kernel) and built.kernel.one_layout is not None
        ),
        None,
    )
    asked = "--matched" if run.request.matched else "--layouts"
    if why is not None and (run.request.matched or run.request.layouts is not None):
        return kernel_failed(
            f"{asked}: {why}",
            "use --layouts 1 without --matched, or fix how vmlinux is linked; the log is in failures/ of the"
            " cache",
        )
    if run.mode != "walltime" or (run.layouts > 1 and why is None):
        return run
    because = f" ({why})" if why is not None else ""
    return replace(run, layouts=1, notes=(*run.notes, f"each kernel has one layout{because}: {LUCK}"))


def link_programs(
    programs: BuiltPrograms, run: PlannedRun, arms: Mapping[str, BuiltArm], tools: RunTools
) -> BuiltPrograms | tuple[Failure, ...]:
    """Links each arm's Go programs in the layouts of its first boots. A note names programs with one layout.

    Raises Stopped and OSError.
    """
    if run.layouts == 1:
        return programs
    of_arms = dict(programs.of_arms)
    for name, arm in arms.items():
        if isinstance(arm.kernel, Kernel):
            seeds = seeds_of_first_stage(run, name, tools.settings.trust)
            linked = [_linked_program(each, name, seeds, tools) for each in of_arms[name]]
            failures = tuple(each for each in linked if isinstance(each, Failure))
            if failures:
                return failures
            of_arms[name] = tuple(each for each in linked if isinstance(each, SuiteProgram))
    return replace(programs, of_arms=of_arms, notes=(*programs.notes, *_one_layout_note(of_arms.values())))


def _linked_program(
    program: SuiteProgram, arm: str, seeds: tuple[int, ...], tools: RunTools
) -> SuiteProgram | Failure:
    if program.source.program.objects:
        return program  # it measures the kernel and the objects, whose code it does not hold
    tools.progress.begin(f"link {arm}", f"{program.name} of {program.suite}")
    linked = link_program(program, seeds, tools.settings)
    if isinstance(linked, Failure):
        what = linked.message
    else:
        what = linked.one_layout or count_noun(len(linked.layouts), "layout")
    tools.progress.end(f"{program.name} of {program.suite}: {what}")
    return linked


def _one_layout_note(of_arms: Iterable[Sequence[SuiteProgram]]) -> Iterator[str]:
    programs = [each for of_arm in of_arms for each in of_arm if each.one_layout is not None]
    named = dict.fromkeys(f"{each.name} of {each.suite} ({each.one_layout})" for each in programs)
    if named:
        yield f"programs with one layout, {', '.join(named)}: {LUCK}"


def link_layouts(run: BuiltRun) -> BuiltRun | Failure:
    """Links what the boots of the plan need and the cache does not have. Raises Stopped and OSError.

    If head cannot be matched to base, the plan loses its matched boots, and a note says why.
    """
    arms, programs = dict(run.arms), dict(run.programs)
    for subject in run.subjects:
        kernel, names = arms[subject.arm].kernel, _names(run, subject.arm)
        needed, matched = run.plan.layouts_of(names), _matched(run, subject.arm)
        if not isinstance(kernel, Kernel) or (matched is None and set(needed) <= set(kernel.layouts)):
            continue
        linked = _linked(run, subject.arm, needed, matched)
        if isinstance(linked, Failure):
            return linked
        seeds = needed if matched is None else (*needed, *matched.seeds)
        of_suites = _linked_again(run, subject.arm, seeds)
        if isinstance(of_suites, Failure):
            return of_suites
        for name in set(names) & set(arms):
            arms[name], programs[name] = replace(arms[name], kernel=linked), of_suites
    return _with_matched_arm(replace(run, arms=arms, programs=programs))


def _linked_again(run: BuiltRun, arm: str, layouts: tuple[int, ...]) -> tuple[SuiteProgram, ...] | Failure:
    """Returns the arm's programs in the layouts. Those that have one layout keep it."""
    programs: list[SuiteProgram] = []
    for program in run.programs[arm]:
        linked = _linked_program(program, arm, layouts, run.tools) if program.layouts else program
        if isinstance(linked, Failure):
            return linked
        if linked.one_layout != program.one_layout:
            return host_failed(
                f"{program.name} of {program.suite}: {linked.one_layout}",
                "measure it in one layout: --layouts 1; the log is in failures/ of the cache",
            )
        programs.append(linked)
    return tuple(programs)


def _matched(run: BuiltRun, arm: str) -> Matched | None:
    """Returns the images of base that this arm is matched to: head to those of its matched boots."""
    base, seeds = run.arms[run.subjects[0].arm].kernel, run.plan.layouts_of((MATCHED,))
    if arm != run.subjects[-1].arm or not isinstance(base, Kernel) or not seeds:
        return None
    return Matched(base.folder, seeds)


def _with_matched_arm(run: BuiltRun) -> BuiltRun:
    """Returns the run with the arm that boots head in base's layouts, or without boots of it."""
    name = run.subjects[-1].arm
    head = run.arms[name]
    if not isinstance(head.kernel, Kernel) or not run.plan.layouts_of((MATCHED,)):
        return run
    if head.kernel.unmatched is not None:
        before = run.kernels.get(MATCHED)
        note = f"no matched layouts: {head.kernel.unmatched}"
        run.tools.progress.note(note)
        plan = drop_matched(run.plan, () if before is None else tuple(before.layouts))
        return replace(run, plan=plan, notes=(*run.notes, note))
    arm = replace(head, kernel=replace(head.kernel, layouts=head.kernel.matched))
    return replace(
        run,
        arms={**run.arms, MATCHED: arm},
        programs={**run.programs, MATCHED: run.programs[name]},
    )


def _linked(run: BuiltRun, arm: str, layouts: tuple[int, ...], matched: Matched | None) -> Kernel | Failure:
    tools, subject = run.tools, run.arms[arm].subject
    assert isinstance(subject.of, Revision)
    tools.progress.begin(f"link {arm}", f"{subject.short} in further layouts")
    kernel = build_kernel(
        run.tree,
        subject.of,
        fragments=tools.of_arms[arm].fragments,
        toolchain=tools.of_arms[arm].toolchain,
        settings=tools.settings,
        layouts=layouts,
        matched=matched,
    )
    if isinstance(kernel, Kernel) and kernel.one_layout is not None:
        kernel = kernel_failed(
            f"{arm}: {kernel.one_layout}",
            "measure it in one layout: --layouts 1; the log is in failures/ of the cache",
        )
    tools.progress.end(kernel.message if isinstance(kernel, Failure) else "linked")
    return kernel
