"""Plans a run: its arms, the guest's shape, its cases and its boots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cliffwatch.catalogue.suite import GuestNeeds
from cliffwatch.failure import Failure
from cliffwatch.samples import CONTROL, Mode
from cliffwatch_runner.guest.argv import GuestShape
from cliffwatch_runner.host.knobs import primary_threads
from cliffwatch_runner.plan.arguments import unmatched_patterns
from cliffwatch_runner.plan.plan import Plan, make_plan
from cliffwatch_runner.plan.prepare import ResolvedRequest, resolve_request
from cliffwatch_runner.plan.reach import fewest_boots
from cliffwatch_runner.plan.request import ICOUNT_NOISY_BOOTS, RunRequest
from cliffwatch_runner.plan.selection import (
    NONE_LACKING,
    Selection,
    drop_answered,
    keep_named,
    select_cases,
    with_discovered,
)
from cliffwatch_runner.plan.shapes import apply_shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run before its builds. Until bench is built, its cases are guessed from the tree's release."""

    resolved: ResolvedRequest
    plan: Plan
    selection: Selection
    host_faults: tuple[str, ...] = ()
    """Walltime checks of `cliffwatch doctor` that failed; empty in icount."""


def plan_run(request: RunRequest) -> PlannedRun | tuple[Failure, ...]:
    """Resolves a request and plans its boots, without building anything."""
    resolved = resolve_request(request)
    if isinstance(resolved, tuple):
        return resolved
    selection = _cases_of_suites(request, resolved, None)
    wrong = unmatched_patterns(request, tuple(case.key for case in selection.cases))
    if wrong:
        return wrong
    selection = _apply_filters(selection, request)
    plan = plan_boots(request, selection, arm_names(resolved))
    return PlannedRun(resolved=resolved, plan=plan, selection=selection)


def plan_boots(request: RunRequest, selection: Selection, arms: Sequence[str]) -> Plan:
    """Plans the boots of `arms`: as many as requested, or the default of the mode.

    By default, cases whose counts do not repeat get more boots in icount.
    """
    noisy = sum(case.icount.assume == "nothing" for case in selection.cases)
    own = request.mode == "icount" and request.boots is None and noisy > 0
    return make_plan(
        selection.cases,
        arms=arms,
        boots=request.boots_per_arm,
        seed=request.seed,
        notable=request.notable,
        of_noisy=max(ICOUNT_NOISY_BOOTS, fewest_boots(noisy)) if own else 0,
    )


def arm_names(resolved: ResolvedRequest) -> tuple[str, ...]:
    """Returns the arms of the plan. In walltime, the first arm also comes under a second name, as control."""
    names = tuple(arm.arm for arm in resolved.arms)
    return (*names, CONTROL) if resolved.mode == "walltime" else names


def select_run_cases(
    request: RunRequest,
    resolved: ResolvedRequest,
    offered: tuple[str, ...] | None,
    lacking: Mapping[str, str] = NONE_LACKING,
    unbuilt: Mapping[str, str] = NONE_LACKING,
) -> Selection:
    """Selects the cases of a request.

    `offered`: the benchmarks that bench lists; None before bench is built.
    `lacking`: the reason by suite, for suites whose program does not build here.
    `unbuilt`: the reason by BPF object, for objects that do not build here.
    """
    return _apply_filters(_cases_of_suites(request, resolved, offered, lacking, unbuilt), request)


def _apply_filters(selection: Selection, request: RunRequest) -> Selection:
    return drop_answered(keep_named(selection, request.cases), request.answered)


def _cases_of_suites(
    request: RunRequest,
    resolved: ResolvedRequest,
    offered: tuple[str, ...] | None,
    lacking: Mapping[str, str] = NONE_LACKING,
    unbuilt: Mapping[str, str] = NONE_LACKING,
) -> Selection:
    offers = with_discovered(
        request.suites, resolved.suites, offered or (), resolved.catalogue, request.bench_args
    )
    suites = [apply_shapes(suite, request.shapes) for suite in offers]
    shape = guest_shape(request, resolved.mode, 0)
    return select_cases(
        suites,
        request.profile,
        offered=frozenset(offered) if offered is not None else None,
        release=resolved.bench.major_minor,
        mode=resolved.mode,
        cpus=shape.cpus,
        memory_mib=request.memory_mib,
        lacking=lacking,
        unbuilt=unbuilt,
    )


def guest_shape(request: RunRequest, mode: Mode, memory_mib: int) -> GuestShape:
    """Returns the requested guest shape.

    The default in icount is one CPU, as more make values less exact. In walltime each virtual CPU is pinned
    to its own core, from the last core down, because interrupts prefer the first cores.
    """
    cpus = request.cpus or (1 if mode == "icount" else 4)
    pin = request.pin or _choose_cores(mode, cpus)
    return GuestShape(mode=mode, cpus=cpus, memory_mib=memory_mib, pin=pin, root=request.guest_root)


def _choose_cores(mode: Mode, cpus: int) -> tuple[int, ...]:
    cores = sorted(primary_threads()) if mode == "walltime" else []
    return tuple(cores[-cpus:]) if len(cores) > cpus else ()


def shape_of_case(shape: GuestShape, needs: GuestNeeds) -> GuestShape:
    """Returns the run's guest shape, adjusted to the needs of a case."""
    cpus = needs.cpus or shape.cpus
    return replace(
        shape,
        cpus=cpus,
        pin=shape.pin if cpus == shape.cpus else _choose_cores(shape.mode, cpus),
        possible_cpus=needs.possible_cpus,
        numa_nodes=needs.numa_nodes or 1,
    )
