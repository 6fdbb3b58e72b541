"""Cases of a commit that execute nothing which differs from the good one: they count as the good commit measured them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cliffwatch.comparing.comparison import Comparison
from cliffwatch.formats.result_directory import Run
from cliffwatch.samples import Arm, Boot, CaseKey

UNCHANGED_BUILD = "unchanged build"


@dataclass(frozen=True, slots=True)
class MeasuredCommit:
    """What a commit measured beside the good one, `arm`, and those of its cases that need not be measured."""

    run: Run
    arm: Arm
    unchanged: frozenset[CaseKey]


def measured_commit(run: Run, good: Arm | None) -> MeasuredCommit:
    """Head of a run against the good commit; `good` has all cases, None where this run itself has them."""
    arm = run.arms["head"]
    unchanged = frozenset(outcome.case.planned for outcome in arm.unchanged)
    if good is None or not unchanged:
        return MeasuredCommit(run, arm, frozenset())
    measured = {outcome.case.planned for boot in arm.boots for outcome in boot.outcomes}
    boots = tuple(
        replace(
            of_good,
            samples=(
                *_of(arm.boots, place).samples,
                *(s for s in of_good.samples if s.case.planned not in measured),
            ),
            outcomes=(
                *_of(arm.boots, place).outcomes,
                *(outcome for outcome in of_good.outcomes if outcome.case.planned not in measured),
            ),
        )
        for place, of_good in enumerate(good.boots)
    )
    further = tuple(arm.boots[len(good.boots) :])
    return MeasuredCommit(run, replace(arm, boots=(*boots, *further), unchanged=()), unchanged)


def _of(boots: Sequence[Boot], place: int) -> Boot:
    return boots[place] if place < len(boots) else Boot(index=0, block=0, samples=())


def named_unchanged(rows: Sequence[Comparison], unchanged: frozenset[CaseKey]) -> tuple[Comparison, ...]:
    """Says of the rows of such cases why no value of theirs was measured."""
    return tuple(
        replace(row, reason=UNCHANGED_BUILD) if row.case.planned in unchanged else row for row in rows
    )
