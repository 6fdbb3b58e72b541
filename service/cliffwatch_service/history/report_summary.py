"""Regression reports at a glance: which of their changes stand, what got worse and better, each case counted
once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.samples import CaseKey, MetricTraits
from cliffwatch_service.history.change_words import step_words
from cliffwatch_service.store.history.changes import ChangeRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many series got worse and better, and by how much at most, as fractions, None where no such change
    has a percentage; the first that has none is in words (`0 to 2 B/op`), None where all have one. Metrics
    that follow from others are counted in `derived` alone, and those of which nobody said which way is
    better in `changed`.
    """

    worse: int
    worst: float | None
    worse_step: str | None
    better: int
    best: float | None
    better_step: str | None
    derived: int
    changed: int = 0


def standing_changes(changes: Sequence[ChangeRow]) -> list[ChangeRow]:
    """Those that are neither refuted nor superseded."""
    return [change for change in changes if change.state not in ("refuted", "superseded")]


def is_confirmed(change: ChangeRow) -> bool:
    """Whether a comparison showed it: what only history shows is no more than a candidate."""
    return change.state == "confirmed"


def tally(changes: Sequence[ChangeRow]) -> Tally:
    """Of the standing changes of a report. Where none is of a metric that decides, all of them count."""
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
    """The first few standing changes of metrics that decide, regressions first; `changes` come with the
    largest first.
    """
    primary = primary_changes(standing_changes(changes))
    return sorted(primary, key=lambda change: change.kind != "regression")[:most]


def primary_changes(changes: Sequence[ChangeRow]) -> list[ChangeRow]:
    """Those of metrics that decide the verdict of their case; all, where none of them does."""
    return [change for change in changes if _traits(change).primary] or list(changes)


def is_counted(change: ChangeRow) -> bool:
    """Whether the values of a change's series are counted, so that its bounds are the band in which they
    repeat.
    """
    return _traits(change).assume == "exact"


def _traits(change: ChangeRow) -> MetricTraits:
    case = CaseKey(change.suite, change.benchmark, tuple((name, value) for name, value in change.params))
    return load_catalogue().traits(case, change.metric, change.unit, change.mode)
