"""Summaries of regression reports: which changes stand, and what got worse or better.

Counts each case once: metrics that follow from others are counted separately.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.comparing.comparison import BETWEEN_MEASUREMENTS, CHANGES
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.reports.answer import size_range, word_of
from cliffwatch.samples import CaseKey, MetricTraits, Mode
from cliffwatch_service.store.history.changes import ChangeRow


@dataclass(frozen=True, slots=True)
class TallyPart:
    """The changes of one kind."""

    kind: Verdict
    count: int
    """Number of series."""
    words: str
    """`5 slower (up to 5.2 % more instructions)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many series of a report got worse and better, and by how much."""

    parts: Sequence[TallyPart]
    """Regressions, improvements, then changes without a known better direction. Empty if none stands."""
    worst: float | None
    """Largest regression, a positive fraction; None if no regression has a percentage."""
    derived: int
    """Changes of metrics that follow from others; counted only here."""

    @property
    def worse(self) -> int:
        """Number of regressions."""
        return sum(part.count for part in self.parts if part.kind == "regression")

    @property
    def words(self) -> str:
        """What the report is about, as pages, news and the API say it."""
        return ", ".join(part.words for part in self.parts) or NO_CHANGE


NO_CHANGE = "no change stands"


@dataclass(frozen=True, slots=True)
class _Changed:
    """A change as a row of an answer."""

    verdict: Verdict
    change: float | None
    unit: str
    mode: Mode
    base: float | None
    head: float | None


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
    worse = [change.size for change in counted if change.kind == "regression" and change.size is not None]
    return Tally(
        parts=[
            _part(kind, same)
            for kind in CHANGES
            if (same := [change for change in counted if change.kind == kind])
        ],
        worst=max(map(abs, worse), default=None),
        derived=len(standing) - len(counted),
    )


def _part(kind: Verdict, changes: Sequence[ChangeRow]) -> TallyPart:
    rows = [
        _Changed(kind, each.size, each.unit, each.mode, each.base_value, each.head_value) for each in changes
    ]
    between = f" {BETWEEN_MEASUREMENTS}" if any(change.apart for change in changes) else ""
    words = f"{len(rows):,} {word_of(rows, kind)}{size_range(rows, kind)}{between}"
    return TallyPart(kind, len(rows), words)


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
    """Whether the values of a change's series are counted. Its interval is then run-to-run noise."""
    return _traits(change).assume == "exact"


def _traits(change: ChangeRow) -> MetricTraits:
    case = CaseKey(change.suite, change.benchmark, tuple((name, value) for name, value in change.params))
    return load_catalogue().traits(case, change.metric, change.unit, change.mode)
