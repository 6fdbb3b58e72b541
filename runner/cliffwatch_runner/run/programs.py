"""Builds the programs of a run's suites, and what they verify.

There is one program per suite, or one per choice of Go modules that arms name. Suites of the selftests' BPF
objects also get these, with veristat and prog-run: those that verify them of each arm's revision, those that
run them of the revision that bench is from.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from cliffwatch.catalogue.suite import Suite
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.build.programs.modules import FetchConfinement, needs_modules
from cliffwatch_runner.build.programs.objects import ARCHIVE, UNBUILT, VERISTAT, TreeObjects, build_objects
from cliffwatch_runner.build.programs.program import SuiteProgram, build_program
from cliffwatch_runner.build.programs.source import ProgramSource, program_source
from cliffwatch_runner.build.selftests.prog_run import PROG_RUN
from cliffwatch_runner.plan.arm_words.modules import modules_of
from cliffwatch_runner.plan.arms import is_folder
from cliffwatch_runner.plan.objects import objects_of_tree
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.plan.subjects import Subject
from cliffwatch_runner.run.built_run import BuiltArm, RunTools
from cliffwatch_runner.source.revision import Revision

_MOST_NAMED = 20
"""Objects that a note names."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A suite's program with the modules chosen for it."""

    suite: Suite
    chosen: Mapping[str, Path | str]
    """Version or folder, by module."""

    arms: tuple[str, ...]
    """The arms that chose these modules."""

    several: bool
    """True if other arms chose other modules."""

    @property
    def title(self) -> str:
        assert self.suite.program is not None
        of_arms = f" for {', '.join(self.arms)}" if self.several else ""
        return f"{self.suite.program.run} of {self.suite.name}{of_arms}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPrograms:
    """The suites' programs."""

    of_arms: Mapping[str, tuple[SuiteProgram, ...]]
    """By arm. Once objects are added, programs that verify objects carry veristat and the objects."""

    lacking: Mapping[str, str]
    """Optional suites whose program, or veristat, does not build here, with the reason."""

    unbuilt: Mapping[str, str] = field(default_factory=dict)
    """BPF objects that no arm has, with the reason."""

    notes: tuple[str, ...] = ()


def build_programs(run: PlannedRun, tools: RunTools) -> BuiltPrograms | Failure:
    """Builds the suites' programs before any kernel, so that their author learns of a mistake early.

    Fetches the modules of all programs before the first build. Raises Stopped, OSError.
    """
    lacking: dict[str, str] = {}
    sources: list[tuple[_Wanted, ProgramSource]] = []
    for wanted in (each for suite in run.suites for each in _wanted(suite, run)):
        source = _source(wanted, run, tools)
        if not isinstance(source, Failure):
            sources.append((wanted, source))
        elif not _left_out(wanted, source, run, lacking):
            return source
    of_arms: dict[str, tuple[SuiteProgram, ...]] = {arm.arm: () for arm in run.subjects}
    for wanted, source in sources:
        program = _program(wanted, source, run, tools)
        if isinstance(program, Failure):
            if not _left_out(wanted, program, run, lacking):
                return program
            continue
        for arm in wanted.arms:
            of_arms[arm] += (program,)
    return BuiltPrograms(of_arms=of_arms, lacking=lacking)


def _left_out(wanted: _Wanted, failure: Failure, run: PlannedRun, lacking: dict[str, str]) -> bool:
    """True if the run continues without this suite. Never if the suite's modules were requested."""
    if wanted.suite.name not in run.may_lack or wanted.chosen:
        return False
    lacking[wanted.suite.name] = str(failure)
    return True


def _wanted(suite: Suite, run: PlannedRun) -> Iterator[_Wanted]:
    """Yields one program per choice of the suite's modules; none if the suite has no program."""
    if suite.program is None:
        return
    used = modules_of(suite) or {}
    chosen: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for arm in run.subjects:
        modules = {name: how for name, how in arm.settings.module.items() if name in used}
        chosen.setdefault(tuple(sorted(modules.items())), []).append(arm.arm)
    for choice, arms in chosen.items():
        where = {name: Path(how).expanduser() if is_folder(how) else how for name, how in choice}
        yield _Wanted(suite, where, tuple(arms), several=len(chosen) > 1)


def _source(wanted: _Wanted, run: PlannedRun, tools: RunTools) -> ProgramSource | Failure:
    if tools.settings.trust != "local" and wanted.suite in run.own_suites and _fetches(wanted):
        # Its go.mod may name any URL and any folder of this host.
        return wrong_usage(
            f"suite {wanted.suite.name}: its program needs modules that are not in its folder, and"
            " nothing is fetched for a suite that came with a request",
            "run `go mod vendor` in the suite's folder and ask again",
        )
    walls = FetchConfinement(sandbox=tools.guest_sandbox, limits=tools.settings.limits)
    own = tools.settings.trust == "local"
    source = program_source(wanted.suite, wanted.chosen, tools.settings.should_stop, None if own else walls)
    if isinstance(source, ProgramSource) and source.modules:
        shown = ", ".join(f"{name}@{version}" for name, version in source.modules.items())
        tools.progress.note(f"modules of {wanted.title}: {shown}")
    return source


def _fetches(wanted: _Wanted) -> bool:
    file = wanted.suite.source_file
    return file is not None and needs_modules(file.parent, wanted.chosen)


def _program(
    wanted: _Wanted, source: ProgramSource, run: PlannedRun, tools: RunTools
) -> SuiteProgram | Failure:
    tools.progress.begin("build program", wanted.title)
    own = wanted.suite in run.own_suites or bool(wanted.chosen)
    program = build_program(source, own=own, toolchain=tools.toolchain, settings=tools.settings)
    if isinstance(program, Failure):
        tools.progress.end(program.message)
    else:
        tools.progress.end(f"{wanted.title} {'cached' if program.was_there else 'built'}")
    return program


def add_objects(
    programs: BuiltPrograms, arms: Mapping[str, BuiltArm], run: PlannedRun, tools: RunTools
) -> BuiltPrograms | tuple[Failure, ...]:
    """Builds veristat, prog-run and the objects of each arm that has a kernel. An arm whose objects do not
    build uses another arm's.

    Raises Stopped, OSError.
    """
    wanted = [each for each in run.suites if each.program is not None and each.program.objects]
    has = {program.suite for of_arm in programs.of_arms.values() for program in of_arm}
    needing = has & {each.name for each in wanted}
    running = needing & {each.name for each in wanted if each.program and each.program.output == PROG_RUN}
    if not needing:
        return programs
    of_all = _arm_of_bench(arms, run)
    built: dict[str, TreeObjects] = {}
    failures: dict[str, Failure] = {}
    for name, arm in arms.items():
        if not isinstance(arm.kernel, Kernel) or (needing == running and name != of_all):
            continue
        objects = _objects_of_arm(arm.subject, arm.kernel, run, tools)
        if isinstance(objects, Failure) and objects.whose != "kernel":
            return (objects,)
        if isinstance(objects, Failure):
            failures[name] = objects
        else:
            built[name] = objects
    if not built:
        if needing <= run.may_lack:
            reason = next(iter(failures.values())).message
            return replace(programs, lacking={**programs.lacking, **dict.fromkeys(needing, reason)})
        return tuple(failures.values())
    other, stand_in = next(iter(built.items()))

    def objects_for(arm: str, suite: str) -> TreeObjects:
        return built.get(of_all if suite in running else arm, stand_in)

    return replace(
        programs,
        of_arms={
            name: tuple(
                _add_to_program(each, objects_for(name, each.suite)) if each.suite in needing else each
                for each in of_arm
            )
            for name, of_arm in programs.of_arms.items()
        },
        unbuilt=_nowhere(built),
        notes=(
            *(f"objects are from {other}, because veristat of {name} does not build" for name in failures),
            *_unbuilt_notes(built),
        ),
    )


def _arm_of_bench(arms: Mapping[str, BuiltArm], run: PlannedRun) -> str:
    """Returns the arm whose objects all kernels run: it has the revision of bench, if any arm has."""
    names = [name for name, arm in arms.items() if isinstance(arm.kernel, Kernel)]
    of_bench = (name for name in names if _revision(arms[name].subject, run) == run.bench_revision)
    return next(of_bench, names[0] if names else "")


def _objects_of_arm(arm: Subject, kernel: Kernel, run: PlannedRun, tools: RunTools) -> TreeObjects | Failure:
    revision = _revision(arm, run)
    named = run.objects & set(objects_of_tree(run.tree, [revision]))
    tools.progress.begin("build objects", f"of {arm.arm}")
    objects = build_objects(
        run.tree,
        revision,
        kernel,
        named,
        toolchain=tools.of_arms[arm.arm].toolchain if revision == arm.revision else tools.toolchain,
        settings=tools.settings,
    )
    if isinstance(objects, Failure):
        tools.progress.end(f"of {arm.arm}: {objects.message}")
    else:
        how = "cached" if objects.was_there else "built"
        tools.progress.end(f"of {arm.arm} {how}: {len(objects.built)} of {count_noun(len(named), 'object')}")
    return objects


def _revision(arm: Subject, run: PlannedRun) -> Revision:
    """Returns the revision whose selftests the arm uses.

    This is its own, unless the kernel is prebuilt or all arms use the selftests of one revision.
    """
    return run.bench_revision if run.one_bench or arm.revision is None else arm.revision


def _add_to_program(program: SuiteProgram, objects: TreeObjects) -> SuiteProgram:
    """Adds veristat and the objects to a suite's program.

    The source digest excludes them, as they may differ on purpose.
    """
    digest = hashlib.sha256(f"{program.digest}\0{objects.digest}".encode()).hexdigest()[:32]
    files = {
        VERISTAT: objects.veristat,
        PROG_RUN: objects.prog_run,
        ARCHIVE: objects.archive,
        UNBUILT: objects.reasons,
    }
    return replace(program, digest=digest, files={**program.files, **files})


def _nowhere(built: Mapping[str, TreeObjects]) -> dict[str, str]:
    there = {name for objects in built.values() for name in objects.built}
    return {
        name: reason
        for objects in built.values()
        for name, reason in objects.unbuilt.items()
        if name not in there
    }


def _unbuilt_notes(built: Mapping[str, TreeObjects]) -> Iterator[str]:
    for name, objects in built.items():
        if objects.unbuilt:
            shown = ", ".join(list(objects.unbuilt)[:_MOST_NAMED])
            more = (
                f" and {len(objects.unbuilt) - _MOST_NAMED} more"
                if len(objects.unbuilt) > _MOST_NAMED
                else ""
            )
            yield f"{count_noun(len(objects.unbuilt), 'object')} of {name} not built: {shown}{more}"
