"""Leaves out cases whose code is equal in all arms. Stores what a run's cases execute for the next run."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import read_run
from cliffwatch.samples import AUXILIARY_ARMS, CaseKey
from cliffwatch_runner.build.cache.executed import Executed, join_executed, keep_executed, load_executed
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.plan.run_plan import plan_boots
from cliffwatch_runner.plan.selection import Selection
from cliffwatch_runner.run.built_run import BuiltRun
from cliffwatch_runner.run.unchanged_builds.affected import differences, only_affected
from cliffwatch_runner.run.unchanged_builds.executed import kept_key, read_executed

NOTHING_KEPT = (
    "all cases are measured: this host has no function counts yet"
    " for the kernel of {first} with these programs"
)

_COMPARED = 2


def leave_out_unchanged(run: BuiltRun) -> BuiltRun | Failure:
    """Leaves out unchanged cases if the request asks for it and at least two kernels were built.

    Raises Stopped, OSError.
    """
    request, tools = run.request, run.tools
    built = {
        name: arm
        for name, arm in run.arms.items()
        if name not in AUXILIARY_ARMS and isinstance(arm.kernel, Kernel)
    }
    if request.only_affected is None or len(built) < _COMPARED:
        return run
    known = _known(run)
    if isinstance(known, Failure):
        return known
    first = next(iter(run.arms.values()))
    if known is None:
        return replace(run, notes=(*run.notes, NOTHING_KEPT.format(first=first.subject.short)))
    changed = differences(
        built, run.programs, tools.settings.built, tools.guest_sandbox, tools.settings.should_stop
    )
    if isinstance(changed, Failure):
        return changed
    everything = Selection(cases=run.plan.cases, left_out=run.left_out)
    selection = only_affected(everything, built, changed, known)
    unchanged = len(everything.cases) - len(selection.cases)
    noted = (
        f"{count_noun(unchanged, 'case')} not measured, unchanged build, by the counts of {known.source}",
    )
    return replace(
        plan_boots(run, selection),
        notes=(*run.notes, *(noted if unchanged else ())),
        known=known if request.only_affected == "kept" else None,
        executed=known,
    )


def _known(run: BuiltRun) -> Executed | Failure | None:
    request, first = run.request, next(iter(run.arms))
    if isinstance(request.only_affected, Path):
        return read_executed(request.only_affected)
    kernel = run.arms[first].kernel
    if request.trust == "outside" or not isinstance(kernel, Kernel):
        return None  # untrusted code neither writes nor reads the cache
    key = kept_key(run, first)
    if key is None:
        return None
    return load_executed(request.cache, request.trust, key, kernel.digest)


def keep_counts(run: BuiltRun, folder: Path) -> None:
    """Stores the executed functions of every arm that was counted or is unchanged from the first one.

    Nothing is stored for untrusted code. If they cannot be stored, the next run measures these cases again.
    """
    request = run.request
    if request.trust == "outside":
        return
    unchanged = {outcome.case for outcome in run.left_out if outcome.status == "unchanged-build"}
    measured = _measured_well(folder)
    for arm in run.arms:
        key = kept_key(run, arm)
        if arm in AUXILIARY_ARMS or key is None:
            continue
        of_run = read_executed(folder, arm)
        of_arm = None if isinstance(of_run, Failure) else _only(of_run, measured.get(arm, frozenset()))
        of_before = (
            None if run.known is None else _only(run.known, unchanged | set(of_arm.cases if of_arm else ()))
        )
        parts = [each for each in (of_arm, of_before) if each is not None and each.cases]
        if parts:
            with suppress(OSError):
                keep_executed(request.cache, request.trust, key, join_executed(*parts))


def _measured_well(folder: Path) -> Mapping[str, frozenset[CaseKey]]:
    """Returns, by arm, the cases that succeeded in all boots.

    What the other cases would execute is not fully known.
    """
    run = read_run(folder)
    if isinstance(run, Failure):
        return {}
    well: dict[str, frozenset[CaseKey]] = {}
    for name, arm in run.arms.items():
        outcomes = [outcome for boot in arm.boots for outcome in boot.outcomes]
        bad = {outcome.case.planned for outcome in outcomes if outcome.status != "ok"}
        well[name] = frozenset(outcome.case.planned for outcome in outcomes) - bad
    return well


def _only(executed: Executed, cases: frozenset[CaseKey] | set[CaseKey]) -> Executed:
    return replace(executed, cases={case: names for case, names in executed.cases.items() if case in cases})
