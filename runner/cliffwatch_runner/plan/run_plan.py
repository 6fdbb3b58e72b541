"""The plan of a run, from what was asked and what the tree offers: its arms, the guest's shape, its cases and its boots."""

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
    only_named,
    select_cases,
    with_discovered,
    without_answered,
)
from cliffwatch_runner.plan.shapes import in_shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """What a run would do: which cases there are is guessed from the tree's release until bench is built. `host_faults` are the doctor's
    checks of walltime that failed; none in icount.
    """

    resolved: ResolvedRequest
    plan: Plan
    selection: Selection
    host_faults: tuple[str, ...] = ()


def plan_run(request: RunRequest) -> PlannedRun | tuple[Failure, ...]:
    """Resolves a request and plans its boots. Nothing is built."""
    resolved = resolve_request(request)
    if isinstance(resolved, tuple):
        return resolved
    selection = _cases_of_suites(request, resolved, None)
    wrong = unmatched_patterns(request, tuple(case.key for case in selection.cases))
    if wrong:
        return wrong
    selection = _chosen(selection, request)
    plan = plan_boots(request, selection, arm_names(resolved))
    return PlannedRun(resolved=resolved, plan=plan, selection=selection)


def plan_boots(request: RunRequest, selection: Selection, arms: Sequence[str]) -> Plan:
    """The boots of these arms, as many as the request or its mode asks for; under icount by default more of cases that do not repeat."""
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
    """The arms of the plan: those of the request, and in walltime the first one under another name."""
    names = tuple(arm.arm for arm in resolved.arms)
    return (*names, CONTROL) if resolved.mode == "walltime" else names


def select_run_cases(
    request: RunRequest,
    resolved: ResolvedRequest,
    offered: tuple[str, ...] | None,
    lacking: Mapping[str, str] = NONE_LACKING,
    unbuilt: Mapping[str, str] = NONE_LACKING,
) -> Selection:
    """The cases of the request; `offered` is what the built bench lists, None before it is built; `lacking` has suites whose program does
    not build here, and `unbuilt` BPF objects that do not.
    """
    return _chosen(_cases_of_suites(request, resolved, offered, lacking, unbuilt), request)


def _chosen(selection: Selection, request: RunRequest) -> Selection:
    return without_answered(only_named(selection, request.cases), request.answered)


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
    suites = [in_shapes(suite, request.shapes) for suite in offers]
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
    """The shape that was asked for; icount has one CPU unless more are named, as several make values less exact.

    In walltime each virtual CPU gets a core of its own, from the last ones down: interrupts prefer the first.
    """
    cpus = request.cpus or (1 if mode == "icount" else 4)
    pin = request.pin or _pinned(mode, cpus)
    return GuestShape(mode=mode, cpus=cpus, memory_mib=memory_mib, pin=pin, root=request.guest_root)


def _pinned(mode: Mode, cpus: int) -> tuple[int, ...]:
    cores = sorted(primary_threads()) if mode == "walltime" else []
    return tuple(cores[-cpus:]) if len(cores) > cpus else ()


def shape_of_case(shape: GuestShape, needs: GuestNeeds) -> GuestShape:
    """The run's guest with what a case asks for itself."""
    cpus = needs.cpus or shape.cpus
    return replace(
        shape,
        cpus=cpus,
        pin=shape.pin if cpus == shape.cpus else _pinned(shape.mode, cpus),
        possible_cpus=needs.possible_cpus,
        numa_nodes=needs.numa_nodes or 1,
    )
