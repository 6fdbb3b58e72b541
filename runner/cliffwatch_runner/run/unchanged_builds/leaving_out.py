"""Leaves out cases whose code is equal in all arms. Stores what a run's cases execute for the next run."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import read_run
from cliffwatch.samples import CONTROL, CaseKey
from cliffwatch_runner.build.cache.executed import Executed, join_executed, keep_executed, load_executed
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import plan_boots
from cliffwatch_runner.plan.selection import Selection
from cliffwatch_runner.results.record import RunFacts
from cliffwatch_runner.run.unchanged_builds.affected import differences, only_affected
from cliffwatch_runner.run.unchanged_builds.executed import kept_key, read_executed
from cliffwatch_runner.sandbox.sandbox import Sandbox

NOTHING_KEPT = (
    "all cases are measured: this host has no function counts yet"
    " for the kernel of {first} with these programs"
)

_COMPARED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedRun:
    """A run's facts without the unchanged cases."""

    facts: RunFacts
    known: Executed | None
    """What the cache knows of the first arm; None if nothing, or if another run was used."""

    went_by: Executed | None = None
    """The counts that were used, from the cache or from another run; None if none were."""


def leave_out_unchanged(
    request: RunRequest, facts: RunFacts, built_in: Path, sandbox: Sandbox, should_stop: Callable[[], bool]
) -> ReducedRun | Failure:
    """Leaves out unchanged cases if the request asks for it and at least two kernels were built.

    Raises Stopped, OSError.
    """
    built = {
        name: arm for name, arm in facts.arms.items() if name != CONTROL and isinstance(arm.kernel, Kernel)
    }
    if request.only_affected is None or len(built) < _COMPARED:
        return ReducedRun(facts=facts, known=None)
    known = _known(request, facts)
    if isinstance(known, Failure):
        return known
    first = next(iter(facts.arms))
    if known is None:
        note = NOTHING_KEPT.format(first=facts.arms[first].subject.short)
        return ReducedRun(facts=replace(facts, notes=(*facts.notes, note)), known=None)
    changed = differences(built, facts.programs, built_in, sandbox, should_stop)
    if isinstance(changed, Failure):
        return changed
    everything = Selection(cases=facts.plan.cases, left_out=facts.left_out)
    selection = only_affected(everything, built, changed, known)
    unchanged = len(everything.cases) - len(selection.cases)
    noted = (
        f"{count_noun(unchanged, 'case')} not measured, unchanged build, by the counts of {known.source}",
    )
    limited = replace(
        facts,
        plan=plan_boots(request, selection, tuple(facts.arms)),
        left_out=selection.left_out,
        notes=(*facts.notes, *(noted if unchanged else ())),
    )
    return ReducedRun(facts=limited, known=known if request.only_affected == "kept" else None, went_by=known)


def _known(request: RunRequest, facts: RunFacts) -> Executed | Failure | None:
    if isinstance(request.only_affected, Path):
        return read_executed(request.only_affected)
    return _kept_of(request, facts, next(iter(facts.arms)))


def _kept_of(request: RunRequest, facts: RunFacts, arm: str) -> Executed | None:
    kernel = facts.arms[arm].kernel
    if request.trust == "outside" or not isinstance(kernel, Kernel):
        return None  # untrusted code neither writes nor reads the cache
    key = kept_key(facts, arm)
    if key is None:
        return None
    return load_executed(request.cache, request.trust, key, kernel.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsToKeep:
    """Stores what a run's cases execute. Nothing is stored for untrusted code."""

    cache: Path
    trust: str
    known: Executed | None
    """What was known of the first arm before the run."""

    def keep(self, folder: Path, facts: RunFacts) -> None:
        """Stores the executed functions of every arm that was counted or is unchanged from the first one.

        If they cannot be stored, the next run measures these cases again.
        """
        if self.trust == "outside":
            return
        unchanged = {outcome.case for outcome in facts.left_out if outcome.status == "unchanged-build"}
        measured = _measured_well(folder)
        for arm in facts.arms:
            key = kept_key(facts, arm)
            if arm == CONTROL or key is None:
                continue
            of_run = read_executed(folder, arm)
            of_arm = None if isinstance(of_run, Failure) else _only(of_run, measured.get(arm, frozenset()))
            of_before = (
                None
                if self.known is None
                else _only(self.known, unchanged | set(of_arm.cases if of_arm else ()))
            )
            parts = [each for each in (of_arm, of_before) if each is not None and each.cases]
            if parts:
                with suppress(OSError):
                    keep_executed(self.cache, self.trust, key, join_executed(*parts))


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
