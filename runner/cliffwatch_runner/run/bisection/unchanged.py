"""Fills in cases whose code equals the good commit's: they take the good commit's values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.result_directory import Run
from cliffwatch.samples import Arm, Boot, CaseKey

UNCHANGED_BUILD = "unchanged build"


@dataclass(frozen=True, slots=True)
class MeasuredCommit:
    """A commit, measured beside the good one."""

    run: Run
    arm: Arm
    """The commit's values, including those taken from the good commit."""

    unchanged: frozenset[CaseKey]
    """Cases that were not measured because their code is unchanged."""


def complete_commit(run: Run, good: Arm | None) -> MeasuredCommit:
    """Returns the head of a run, completed with values of `good` for its unchanged cases.

    `good` has all cases; None if this run measured all of them itself.
    """
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


def mark_unchanged(rows: Sequence[ComparisonRow], unchanged: frozenset[CaseKey]) -> tuple[ComparisonRow, ...]:
    """Gives the rows of unchanged cases the reason why they were not measured."""
    return tuple(
        structs.replace(row, reason=UNCHANGED_BUILD) if row.case.planned in unchanged else row for row in rows
    )
