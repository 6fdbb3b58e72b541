"""Summaries of regression reports: which changes stand, and what got worse or better.

Counts each case once: metrics that follow from others are counted separately.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.samples import CaseKey, MetricTraits
from cliffwatch_service.history.change_words import step_words
from cliffwatch_service.store.history.changes import ChangeRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many series of a report got worse and better, and by how much."""

    worse: int
    """Number of regressions."""
    worst: float | None
    """Largest regression, a positive fraction; None if no regression has a percentage."""
    worse_step: str | None
    """First regression without a percentage, in words (`0 to 2 B/op`); None if all have one."""
    better: int
    """Number of improvements."""
    best: float | None
    """Largest improvement, a positive fraction; None if no improvement has a percentage."""
    better_step: str | None
    """First improvement without a percentage, in words; None if all have one."""
    derived: int
    """Changes of metrics that follow from others; counted only here."""
    changed: int = 0
    """Changes of metrics without a known better direction."""


def standing_changes(changes: Sequence[ChangeRow]) -> list[ChangeRow]:
    """Returns the changes that are neither refuted nor superseded."""
    return [change for change in changes if change.state not in ("refuted", "superseded")]


def is_confirmed(change: ChangeRow) -> bool:
    """Whether a comparison showed the change. A step that only history shows is a candidate."""
    return change.state == "confirmed"


def tally(changes: Sequence[ChangeRow]) -> Tally:
    """Counts the standing changes of a report. If no change is of a primary metric, all count."""
    standing = standing_changes(changes)
    counted = primary_changes(standing)
    worse = [change for change in counted if change.kind == "regression"]
    better = [change for change in counted if change.kind == "improvement"]
    return Tally(
        worse=len(worse),
        worst=_largest(worse),
        worse_step=_first_step(worse),
        better=len(better),
        best=_largest(better),
        better_step=_first_step(better),
        derived=len(standing) - len(counted),
        changed=sum(change.kind == "changed" for change in counted),
    )


def _largest(changes: Sequence[ChangeRow]) -> float | None:
    return max((abs(change.size) for change in changes if change.size is not None), default=None)


def _first_step(changes: Sequence[ChangeRow]) -> str | None:
    return next((step_words(change) for change in changes if change.size is None), None)


def largest_changes(changes: Sequence[ChangeRow], most: int) -> list[ChangeRow]:
    """Returns at most `most` standing changes of primary metrics, regressions first.

    `changes` must be sorted, largest first.
    """
    primary = primary_changes(standing_changes(changes))
    return sorted(primary, key=lambda change: change.kind != "regression")[:most]


def primary_changes(changes: Sequence[ChangeRow]) -> list[ChangeRow]:
    """Returns the changes of primary metrics, which decide their case's verdict; all if there are none."""
    return [change for change in changes if _traits(change).primary] or list(changes)


def is_counted(change: ChangeRow) -> bool:
    """Whether the values of a change's series are counted. Its bounds are then a repeatability band."""
    return _traits(change).assume == "exact"


def _traits(change: ChangeRow) -> MetricTraits:
    case = CaseKey(change.suite, change.benchmark, tuple((name, value) for name, value in change.params))
    return load_catalogue().traits(case, change.metric, change.unit, change.mode)
