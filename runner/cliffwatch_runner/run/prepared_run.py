"""Prepares a run: resolves revisions, checks tools, builds kernels and bench, plans boots."""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import CONTROL
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_runner.build.cache.executed import Executed
from cliffwatch_runner.build.cache.uses import Uses
from cliffwatch_runner.build.image_root import image_root
from cliffwatch_runner.build.images.config import forbidden_in_prebuilt
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.build.kernel_config import FORBIDDEN
from cliffwatch_runner.build.programs.program import SuiteProgram
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.guest.argv import guest_argv
from cliffwatch_runner.guest.boot import ArmKernel
from cliffwatch_runner.guest.counting.plugin import Counting, counting_plugin, make_counting
from cliffwatch_runner.guest.programs import GuestPrograms
from cliffwatch_runner.host.programs import find_udev, guest_programs
from cliffwatch_runner.plan.arms import ArmSettings
from cliffwatch_runner.plan.prepare import NO_UDEV, CheckedTools, check_tools
from cliffwatch_runner.plan.reach import explain_too_few_boots
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import PlannedRun, guest_shape, plan_boots, plan_run, select_run_cases
from cliffwatch_runner.results.declared import declared_metrics
from cliffwatch_runner.results.record import RunFacts
from cliffwatch_runner.run.build import BuiltRun, build
from cliffwatch_runner.run.build_order import BuildOrder
from cliffwatch_runner.run.measure import GuestSettings
from cliffwatch_runner.run.modes.walltime_host import cost_lines, examine_host, host_faults
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.run.unchanged_builds.leaving_out import CountsToKeep, leave_out_unchanged
from cliffwatch_runner.sandbox.isolation import isolation_sentence
from cliffwatch_runner.sandbox.sandbox import Sandbox

_LEAST_MEMORY_MIB = 2048
_MEMORY_BESIDES_MIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """Everything that is needed to measure a run."""

    out: Path | None
    """Result directory that the user named; None to choose one."""

    built: Path
    """Folder of the builds."""

    facts: RunFacts
    """Grow while the run is measured: the host's tuning, and the boots of a second stage."""

    guest: GuestSettings
    progress: Progress
    stop: threading.Event
    counting: Mapping[str, Counting] = field(default_factory=dict)
    """Instruction counter by arm. Arms that are not counted have no entry."""

    counts: CountsToKeep | None = None
    """Stores what the cases execute, for the next run; None if no guest is counted."""

    executed: Executed | None = None
    """What the cases execute, as known before this run and used to leave cases out; None if not used."""

    perf_profile: bool = False
    """True to profile the changed cases with perf after the run."""

    reuse: bool = False
    """True to reuse a complete result directory of the same run."""

    @property
    def kernels(self) -> dict[str, ArmKernel]:
        """The kernel of each arm and how to start it. An arm whose kernel did not build has none."""
        return {
            name: _arm_kernel(arm.kernel, arm.subject.settings, self.counting.get(name))
            for name, arm in self.facts.arms.items()
            if isinstance(arm.kernel, Kernel)
        }

    def unbuilt(self, arm: str) -> Failure | None:
        """Returns why the arm's kernel did not build; None if it did."""
        kernel = self.facts.arms[arm].kernel
        return kernel if isinstance(kernel, Failure) else None


def _arm_kernel(kernel: Kernel, settings: ArmSettings, counting: Counting | None) -> ArmKernel:
    return ArmKernel(
        folder=kernel.folder,
        config=kernel.given_config,
        forbidden=forbidden_in_prebuilt() if kernel.prebuilt else FORBIDDEN,
        arguments=settings.boot,
        writes=settings.files(),
        counting=counting,
    )


def plan_with_progress(request: RunRequest, progress: Progress) -> PlannedRun | tuple[Failure, ...]:
    """Plans a request and reports progress, because fetching its tree takes time."""
    progress.begin("tree", without_credentials(request.tree))
    planned = plan_run(request)
    if isinstance(planned, PlannedRun):
        progress.end(" .. ".join(arm.short for arm in planned.resolved.arms))
        return _on_this_host(planned, request, progress)
    return planned


def _on_this_host(
    planned: PlannedRun, request: RunRequest, progress: Progress
) -> PlannedRun | tuple[Failure, ...]:
    """Adds the host's faults to a walltime plan, and reports them with their cost before the run begins."""
    if request.mode != "walltime":
        return planned
    amiss = examine_host(request.cache)
    if isinstance(amiss, Failure):
        return (amiss,)
    for line in cost_lines(amiss, planned):
        progress.note(line)
    unreachable = explain_too_few_boots(planned.plan, planned.resolved.mode)
    if unreachable is not None:
        progress.note(unreachable)
    return replace(planned, host_faults=host_faults(amiss))


def prepare_run(
    request: RunRequest, progress: Progress, stop: threading.Event, uses: Uses, built: Path
) -> PreparedRun | tuple[Failure, ...]:
    """Checks everything, then builds into the folder `built`. Raises Stopped and OSError as builds do."""
    planned = plan_with_progress(request, progress)
    if isinstance(planned, tuple):
        return planned
    tools = check_tools(request, planned.resolved)
    if isinstance(tools, tuple):
        return tools
    rooted = _with_root_of_image(request, progress, stop, uses)
    if isinstance(rooted, Failure):
        return (rooted,)
    settings = BuildSettings(
        cache=request.cache,
        built=built,
        sandbox=tools.sandbox,
        limits=tools.limits,
        trust=request.trust,
        jobs=request.jobs,
        report_progress=progress.advance,
        should_stop=stop.is_set,
        uses=uses,
    )
    made = build(BuildOrder(planned.resolved, tools, settings, progress))
    if isinstance(made, tuple):
        return made
    facts = _facts(rooted, planned, made, tools)
    limited = (
        leave_out_unchanged(rooted, facts, built, tools.guest_sandbox, stop.is_set)
        if facts.plan.cases
        else _nothing_to_run(facts)
    )
    if isinstance(limited, Failure):
        return (limited,)
    facts = limited.facts
    guest = _guest_settings(rooted, facts, tools.guest_sandbox)
    counting, uncounted = _counting(request, facts, stop)
    return PreparedRun(
        out=request.out,
        built=built,
        facts=replace(facts, notes=(*facts.notes, *uncounted)),
        guest=guest,
        progress=progress,
        stop=stop,
        counting=counting,
        counts=CountsToKeep(cache=request.cache, trust=request.trust, known=limited.known)
        if counting
        else None,
        executed=limited.went_by,
        perf_profile=request.perf_profile,
        reuse=request.reuse,
    )


def _counting(
    request: RunRequest, facts: RunFacts, stop: threading.Event
) -> tuple[dict[str, Counting], tuple[str, ...]]:
    """Returns the instruction counter of each arm, and a sentence for each arm that is not counted."""
    if facts.mode != "icount" or not request.function_counts:
        return {}, ()
    plugin = counting_plugin(request.cache, stop.is_set)
    if isinstance(plugin, str):
        return {}, (f"instructions are not counted by function: {plugin}",)
    built = {name: arm.kernel for name, arm in facts.arms.items() if isinstance(arm.kernel, Kernel)}
    countings = {name: make_counting(kernel.folder, plugin) for name, kernel in built.items()}
    uncounted = tuple(
        f"instructions of {name} are not counted by function: {counting}"
        for name, counting in countings.items()
        if isinstance(counting, str)
    )
    return {name: each for name, each in countings.items() if isinstance(each, Counting)}, uncounted


def _with_root_of_image(
    request: RunRequest, progress: Progress, stop: threading.Event, uses: Uses
) -> RunRequest | Failure:
    """Boots guests on the file system of the build image, unless the user named another root."""
    image = request.tools.build_image
    if image is None or request.guest_root is not None:
        return request
    progress.begin("guest root", f"the file system of {image}")
    root = image_root(request.cache, image, uses, stop.is_set)
    if isinstance(root, Failure):
        return root
    progress.end("this host's programs" if root is None else f"of {image}")
    if root is None and find_udev() is None:
        return NO_UDEV
    if root is None:
        progress.note(
            f"{image} has no udev, so guests use this host's programs; bench may not find its libraries there"
        )
    return replace(request, guest_root=root)


def _facts(request: RunRequest, planned: PlannedRun, built: BuiltRun, tools: CheckedTools) -> RunFacts:
    resolved = planned.resolved
    isolation = isolation_sentence(tools.sandbox.level)
    offered = built.bench.offered if built.bench is not None else ()
    selection = select_run_cases(request, resolved, offered, built.lacking, built.unbuilt)
    needed = max((case.memory_mib for case in selection.cases), default=0) + _MEMORY_BESIDES_MIB
    arms, programs = dict(built.arms), dict(built.programs)
    if resolved.mode == "walltime":
        first = resolved.arms[0].arm
        arms[CONTROL], programs[CONTROL] = arms[first], programs[first]
    kernel = next(arm.kernel for arm in arms.values() if isinstance(arm.kernel, Kernel))
    return RunFacts(
        mode=resolved.mode,
        platform=resolved.platform,
        profile=request.profile,
        suites=(*resolved.named_suites, *(suite.name for suite in resolved.own_suites)),
        tree=request.tree,
        arms=arms,
        bench=built.bench,
        bench_from=built.bench_from,
        programs=programs,
        declared=declared_metrics(resolved.own_suites, resolved.mode),
        data=resolved.data,
        config_digest=kernel.config_digest,
        toolchain=tools.toolchain.record(),
        isolation=isolation,
        shape=guest_shape(request, resolved.mode, request.memory_mib or max(_LEAST_MEMORY_MIB, needed)),
        plan=plan_boots(request, selection, tuple(arms)),
        left_out=selection.left_out,
        host=resolved.host,
        host_faults=planned.host_faults,
        chosen=resolved.chosen,
        notes=(
            *resolved.notes,
            isolation,
            *built.notes,
            *(f"left out: {reason}" for reason in built.lacking.values()),
        ),
    )


def _nothing_to_run(facts: RunFacts) -> Failure:
    reasons = dict.fromkeys(f"{outcome.case}: {outcome.reason}" for outcome in facts.left_out)
    return wrong_usage(
        "no case of the chosen suites can run on this tree",
        "choose other suites (cliffwatch suites)",
        "\n".join(list(reasons)[:20]),
    )


def _guest_settings(request: RunRequest, facts: RunFacts, sandbox: Sandbox) -> GuestSettings:
    housekeeping = sorted(os.sched_getaffinity(0) - set(facts.shape.pin)) if facts.shape.pin else []
    start = partial(guest_argv, sandbox=sandbox, programs=guest_programs(), cpus=housekeeping)
    return GuestSettings(
        programs={arm: _guest_programs(facts, programs) for arm, programs in facts.programs.items()},
        shape=facts.shape,
        sandbox=sandbox,
        argv=start,
        hang_after=request.hang_after,
    )


def _guest_programs(facts: RunFacts, programs: Sequence[SuiteProgram]) -> GuestPrograms:
    """Returns the programs that an arm's guests run.

    Random numbers are fixed only in dynamically linked programs, into which the library can be preloaded.
    """
    bench = [] if facts.bench is None else [facts.bench.program, facts.bench.empty_loop]
    seeds = [each.fixed_seed for each in ([facts.bench] if facts.bench is not None else programs)]
    return GuestPrograms(
        bench=(*bench, *(seeds[:1] if facts.mode == "icount" else ())),
        of_suites={program.suite: program.files for program in programs},
        data=facts.data,
    )
