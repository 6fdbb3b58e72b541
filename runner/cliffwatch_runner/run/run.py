"""A run from request to result directory."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cliffwatch.byte_sizes import size_text
from cliffwatch.counting import counted
from cliffwatch.samples import Mode
from cliffwatch.tree_addresses import without_credentials
from cliffwatch_runner import clock
from cliffwatch_runner.build.cache.entries import locked
from cliffwatch_runner.build.cache.pruning import prune_built
from cliffwatch_runner.build.cache.uses import Uses, cache_uses
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.build.kernel_config import FORBIDDEN
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.failure import Failure
from cliffwatch_runner.guest.argv import GuestShape, guest_argv
from cliffwatch_runner.host.knobs import primary_threads
from cliffwatch_runner.host.lock import host_lock
from cliffwatch_runner.host.programs import guest_programs
from cliffwatch_runner.host.tuning_rights import tuned_as_allowed
from cliffwatch_runner.plan.arguments import unmatched_explain
from cliffwatch_runner.plan.plan import CONTROL, Plan, make_plan
from cliffwatch_runner.plan.prepare import CheckedTools, ResolvedRequest, check_tools, resolve_request
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.selection import Selection, select_cases, with_discovered
from cliffwatch_runner.plan.writable_folders import RESULTS_HOME, check_results, open_cache
from cliffwatch_runner.results.files import finished_boot, write_json
from cliffwatch_runner.results.folder import choose_folder
from cliffwatch_runner.results.record import RunFacts, identity, record
from cliffwatch_runner.run.arm_failures import arm_failures
from cliffwatch_runner.run.boot_progress import BootProgress
from cliffwatch_runner.run.build import Built, build
from cliffwatch_runner.run.confirm import further_boots
from cliffwatch_runner.run.measure import Bench, guests_at_once, measure
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.sandbox.isolation import sentence
from cliffwatch_runner.sandbox.sandbox import Sandbox

Keep = Callable[[RunFacts], None]
"""Writes run.json as the facts are now."""

NO_FAILURES: Mapping[str, Failure] = {}

_LEAST_MEMORY_MIB = 2048
_MEMORY_BESIDES_MIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run that came to its end, or was interrupted: what is there lies in `folder`."""

    folder: Path
    interrupted: bool


def guest_shape(request: RunRequest, mode: Mode, memory_mib: int) -> GuestShape:
    """The shape that was asked for; icount has one CPU unless more are named, as several make values less exact.

    In walltime each virtual CPU gets a core of its own, from the last ones down: interrupts prefer the first.
    """
    cpus = request.cpus or (1 if mode == "icount" else 4)
    pin = request.pin
    if mode == "walltime" and not pin:
        cores = sorted(primary_threads())
        pin = tuple(cores[-cpus:]) if len(cores) > cpus else ()
    return GuestShape(mode=mode, cpus=cpus, memory_mib=memory_mib, pin=pin, root=request.guest_root)


def plan_only(request: RunRequest, progress: Progress) -> tuple[ResolvedRequest, Plan, Selection] | tuple[Failure, ...]:
    """What a run would do, without building: which cases are there is guessed from the tree's release."""
    shut = _shut(request)
    return (shut,) if shut is not None else _planned(request, progress)


def _planned(request: RunRequest, progress: Progress) -> tuple[ResolvedRequest, Plan, Selection] | tuple[Failure, ...]:
    progress.begin("tree", without_credentials(request.tree))
    resolved = resolve_request(request)
    if isinstance(resolved, tuple):
        return resolved
    progress.end(f"{resolved.base.short} .. {resolved.head.short}")
    selection = _select(request, resolved, None)
    wrong = unmatched_explain(request, tuple(case.key for case in selection.cases))
    if wrong:
        return wrong
    return resolved, _plan(request, resolved.mode, selection, _arms(resolved.mode)), selection


def _plan(request: RunRequest, mode: Mode, selection: Selection, arms: Sequence[str]) -> Plan:
    boots = request.boots_per_arm(mode)
    return make_plan(selection.cases, arms=arms, boots=boots, seed=request.seed, notable=request.notable)


def _arms(mode: Mode) -> tuple[str, ...]:
    return ("base", "head", CONTROL) if mode == "walltime" else ("base", "head")


def _select(request: RunRequest, resolved: ResolvedRequest, offered: tuple[str, ...] | None) -> Selection:
    suites = with_discovered(request.suites, resolved.suites, offered or (), resolved.catalogue)
    shape = guest_shape(request, resolved.mode, 0)
    return select_cases(
        suites,
        request.profile,
        offered=frozenset(offered) if offered is not None else None,
        release=resolved.bench.major_minor,
        cpus=shape.cpus,
        memory_mib=request.memory_mib,
    )


def run(request: RunRequest, progress: Progress, stop: threading.Event) -> Finished | tuple[Failure, ...]:
    """Carries a request out. Raises Stopped where it was interrupted before the first boot, OSError on a full disk."""
    shut = _shut(request)
    if shut is not None:
        return (shut,)
    with cache_uses() as uses:
        uses.take(request.cache / "mirror.git", make=True)
        ended = _carried_out(request, progress, stop, uses)
        _prune(request, progress)
    return ended


def _shut(request: RunRequest) -> Failure | None:
    return open_cache(request.cache) or check_results(request.out or RESULTS_HOME)


def _prune(request: RunRequest, progress: Progress) -> None:
    """While the run still holds what is its own."""
    with suppress(OSError):  # what it measured is no worse for it
        pruned = prune_built(request.cache, request.cache_size, clock.now())
        if not pruned.removed:
            return
        what = f"{counted(len(pruned.removed), 'kernel or bench', 'kernels and benches')}, {size_text(pruned.bytes)}"
        progress.note(f"removed from the cache, least recently used first: {what} (see `cliffwatch cache`)")


def _carried_out(
    request: RunRequest, progress: Progress, stop: threading.Event, uses: Uses
) -> Finished | tuple[Failure, ...]:
    planned = _planned(request, progress)
    if isinstance(planned[0], Failure):
        return tuple(each for each in planned if isinstance(each, Failure))
    resolved = planned[0]
    tools = check_tools(request, resolved)
    if isinstance(tools, tuple):
        return tools
    settings = BuildSettings(
        cache=request.cache,
        sandbox=tools.sandbox,
        limits=tools.limits,
        trust=request.trust,
        jobs=request.jobs,
        report_progress=progress.advance,
        should_stop=stop.is_set,
        uses=uses,
    )
    built = build(resolved, tools, settings, progress, request.bench_from)
    if isinstance(built, tuple):
        return built
    facts = _facts(request, resolved, built, tools)
    if not facts.plan.cases:
        return (_nothing_to_run(facts),)
    return _measured(request, facts, _bench(request, facts, built, tools.guest_sandbox), progress, stop)


def _facts(request: RunRequest, resolved: ResolvedRequest, built: Built, tools: CheckedTools) -> RunFacts:
    isolation = sentence(tools.sandbox.level)
    selection = _select(request, resolved, built.bench.offered)
    needed = max((case.memory_mib for case in selection.cases), default=0) + _MEMORY_BESIDES_MIB
    arms = dict(built.arms)
    if resolved.mode == "walltime":
        arms[CONTROL] = arms["base"]
    kernel = next(arm.kernel for arm in arms.values() if isinstance(arm.kernel, Kernel))
    return RunFacts(
        mode=resolved.mode,
        platform=resolved.platform,
        profile=request.profile,
        suites=request.suites,
        tree=request.tree,
        arms=arms,
        bench=built.bench,
        bench_from=built.bench_from,
        config_digest=kernel.config_digest,
        toolchain=tools.toolchain.record(),
        isolation=isolation,
        shape=guest_shape(request, resolved.mode, request.memory_mib or max(_LEAST_MEMORY_MIB, needed)),
        plan=_plan(request, resolved.mode, selection, tuple(arms)),
        left_out=selection.left_out,
        host=resolved.host,
        notes=(*resolved.notes, isolation, *built.notes),
    )


def _nothing_to_run(facts: RunFacts) -> Failure:
    reasons = dict.fromkeys(f"{outcome.case}: {outcome.reason}" for outcome in facts.left_out)
    return Failure(
        whose="usage",
        message="no case of the chosen suites can run on this tree",
        next_step="choose other suites (cliffwatch suites)",
        evidence="\n".join(list(reasons)[:20]),
    )


def _measured(
    request: RunRequest, facts: RunFacts, bench: Bench, progress: Progress, stop: threading.Event
) -> Finished | tuple[Failure, ...]:
    """Under the lock of the folder that was named: a run that was told to end there may still be ending."""
    if request.out is None:
        return _in_folder(request, facts, bench, progress, stop)
    request.out.mkdir(parents=True, exist_ok=True)
    waiting = partial(progress.note, f"waiting for another run in {request.out} to end")
    with locked(request.out / ".lock", waiting=waiting, should_stop=stop.is_set):
        return _in_folder(request, facts, bench, progress, stop)


def _in_folder(
    request: RunRequest, facts: RunFacts, bench: Bench, progress: Progress, stop: threading.Event
) -> Finished | tuple[Failure, ...]:
    base, head = facts.arms["base"].revision, facts.arms["head"].revision
    folder = choose_folder(request.out, f"{base.short}-{head.short}-{facts.mode}", identity(facts))
    if isinstance(folder, Failure):
        return (folder,)
    if folder.done:
        progress.note(f"{folder.path} holds this run already, complete; nothing is measured again")
        return Finished(folder=folder.path, interrupted=False)
    created = folder.created or clock.now().isoformat()
    if facts.plan.notable is None and folder.notable is not None:
        facts = replace(facts, plan=replace(facts.plan, notable=folder.notable))

    def keep(current: RunFacts, status: str = "running", failures: Mapping[str, Failure] = NO_FAILURES) -> None:
        write_json(folder.path / "run.json", record(current, created=created, status=status, failures=failures))

    keep(facts)
    if folder.resumed:
        done = sum(finished_boot(folder.path, boot) for boot in facts.plan.boots)
        progress.note(
            f"going on in {folder.path}: {done} of {counted(len(facts.plan.boots), 'boot is', 'boots are')} done"
        )
    measured = _locked_and_measured(facts, bench, folder.path, keep, progress, stop)
    if isinstance(measured, Failure):
        return (measured,)
    keep(measured, "incomplete" if stop.is_set() else "complete", arm_failures(folder.path, facts.arms))
    return Finished(folder=folder.path, interrupted=stop.is_set())


def _locked_and_measured(
    facts: RunFacts, bench: Bench, folder: Path, keep: Keep, progress: Progress, stop: threading.Event
) -> RunFacts | Failure:
    """Measures under the host's lock and comes back with the facts as they are then: plan and tuning may have grown."""
    what = f"cliffwatch run, {facts.mode}, {folder.name}"
    with host_lock(facts.mode, what=what, waiting=progress.note, should_stop=stop.is_set) as held:
        if isinstance(held, Failure):
            return facts if stop.is_set() else held
        if facts.mode == "icount":
            return _measure(facts, bench, folder, keep, progress, stop)
        with tuned_as_allowed(frozenset(facts.shape.pin), report=progress.note) as tuned:
            facts = replace(facts, host={**facts.host, "tuned": tuned.facts()})
            return _measure(facts, bench, folder, keep, progress, stop)


def _measure(
    facts: RunFacts, bench: Bench, folder: Path, keep: Keep, progress: Progress, stop: threading.Event
) -> RunFacts | Failure:
    """Boots the plan, and whatever boots the plan's stages add to it."""
    kernels = {name: arm.kernel.folder for name, arm in facts.arms.items() if isinstance(arm.kernel, Kernel)}
    at_once = guests_at_once(facts.mode, facts.shape.cpus)
    while True:
        plan = facts.plan
        keep(facts)
        done = {boot.index for boot in plan.boots if finished_boot(folder, boot)}
        progress.begin("measure", _said(plan))
        listener = BootProgress(plan, progress, done)
        failure = measure(plan, kernels, bench, folder, at_once=at_once, listener=listener, stop=stop)
        if failure is not None:
            return failure
        progress.end("interrupted" if stop.is_set() else counted(len(plan.boots), "boot"))
        longer = None if stop.is_set() else further_boots(folder, plan)
        if longer is None:
            return facts
        facts = replace(facts, plan=longer)


def _said(plan: Plan) -> str:
    confirming = [boot for boot in plan.boots if boot.stage == "confirm"]
    if not confirming:
        return f"{counted(len(plan.boots), 'boot')}, {counted(len(plan.cases), 'case')} each"
    return f"{counted(len(confirming), 'more boot')} of {counted(len(confirming[-1].cases), 'open case')}"


def _bench(request: RunRequest, facts: RunFacts, built: Built, sandbox: Sandbox) -> Bench:
    programs = (built.bench.program, built.bench.fixed_seed) if facts.mode == "icount" else (built.bench.program,)
    housekeeping = sorted(os.sched_getaffinity(0) - set(facts.shape.pin)) if facts.shape.pin else []
    start = partial(guest_argv, sandbox=sandbox, programs=guest_programs(), shape=facts.shape, cpus=housekeeping)
    return Bench(
        programs=programs,
        shape=facts.shape,
        forbidden=FORBIDDEN,
        sandbox=sandbox,
        argv=start,
        hang_after=request.hang_after,
    )
