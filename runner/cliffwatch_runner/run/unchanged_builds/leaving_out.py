"""Cases that are not measured, since nothing that they execute differs between a run's arms; and what the next run needs to know that of its own."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.counting import counted
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import read_run
from cliffwatch.samples import CONTROL, CaseKey
from cliffwatch_runner.build.cache.executed import Executed, joined, keep_executed, read_kept
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import plan_boots
from cliffwatch_runner.plan.selection import Selection
from cliffwatch_runner.results.record import RunFacts
from cliffwatch_runner.run.unchanged_builds.affected import differences, only_affected
from cliffwatch_runner.run.unchanged_builds.executed import kept_key, read_executed
from cliffwatch_runner.sandbox.sandbox import Sandbox

NOTHING_KEPT = "all cases are measured: what they execute is not known on this host yet for the kernel of {first} with these programs"

_COMPARED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limited:
    """A run's facts without the cases that are unchanged; `known` is what the cache has of its first arm, and `went_by` what it was that said so,
    in the cache or in another run.
    """

    facts: RunFacts
    known: Executed | None
    went_by: Executed | None = None


def leave_out_unchanged(
    request: RunRequest, facts: RunFacts, built_in: Path, sandbox: Sandbox, should_stop: Callable[[], bool]
) -> Limited | Failure:
    """As the request asks for it, where two kernels were built at least. Raises Stopped, OSError."""
    built = {
        name: arm for name, arm in facts.arms.items() if name != CONTROL and isinstance(arm.kernel, Kernel)
    }
    if request.only_affected is None or len(built) < _COMPARED:
        return Limited(facts=facts, known=None)
    known = _known(request, facts)
    if isinstance(known, Failure):
        return known
    first = next(iter(facts.arms))
    if known is None:
        note = NOTHING_KEPT.format(first=facts.arms[first].subject.short)
        return Limited(facts=replace(facts, notes=(*facts.notes, note)), known=None)
    changed = differences(built, facts.programs, built_in, sandbox, should_stop)
    if isinstance(changed, Failure):
        return changed
    everything = Selection(cases=facts.plan.cases, left_out=facts.left_out)
    selection = only_affected(everything, built, changed, known)
    unchanged = len(everything.cases) - len(selection.cases)
    noted = (f"{counted(unchanged, 'case')} not measured, unchanged build, by the counts of {known.source}",)
    limited = replace(
        facts,
        plan=plan_boots(request, selection, tuple(facts.arms)),
        left_out=selection.left_out,
        notes=(*facts.notes, *(noted if unchanged else ())),
    )
    return Limited(facts=limited, known=known if request.only_affected == "kept" else None, went_by=known)


def _known(request: RunRequest, facts: RunFacts) -> Executed | Failure | None:
    if isinstance(request.only_affected, Path):
        return read_executed(request.only_affected)
    return _kept_of(request, facts, next(iter(facts.arms)))


def _kept_of(request: RunRequest, facts: RunFacts, arm: str) -> Executed | None:
    kernel = facts.arms[arm].kernel
    if request.trust == "outside" or not isinstance(kernel, Kernel):
        return None  # of anybody's code nothing is kept, and none of it is read
    key = kept_key(facts, arm)
    if key is None:
        return None
    return read_kept(request.cache, request.trust, key, kernel.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsToKeep:
    """Where a run leaves what its cases execute, and what was known of its first arm before. Of anybody's code nothing is kept."""

    cache: Path
    trust: str
    known: Executed | None

    def keep(self, folder: Path, facts: RunFacts) -> None:
        """Of every arm that was counted, or executes what the first one does. What cannot be kept is measured again, and no more."""
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
                    keep_executed(self.cache, self.trust, key, joined(*parts))


def _measured_well(folder: Path) -> Mapping[str, frozenset[CaseKey]]:
    """For each arm the cases that ended well in all boots: of the others it is not known what more they execute."""
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
