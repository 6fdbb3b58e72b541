"""What readers see first: how rows are grouped, filtered and sorted, and which change a set could detect.

Pages and reports call it, so that they agree.
"""

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from cliffwatch.comparing.comparison import BETWEEN_MEASUREMENTS, CHANGES, TROUBLED
from cliffwatch.comparing.thresholds import LIKELY, is_real
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow

_DIGITS = re.compile(r"(\d+)")
ORDER = ("disagree", *CHANGES, *TROUBLED, "inconclusive", "unchanged")
"""Verdicts of a case over all targets, the most important first."""

COUNTED = ("failed", *(verdict for verdict in ORDER if verdict != "failed"))
"""The same in the order of a headline's counts."""

CHANGED = frozenset((*CHANGES, "disagree"))
FILTERS = ("changed", *(verdict for verdict in ORDER if verdict != "changed"))
"""Filters for rows: a verdict, or `changed` for every change, including changes without a known direction."""

SORTS = ("size", "certainty", "name")


@dataclass(frozen=True, slots=True)
class Group:
    """Verdicts that are listed together."""

    name: str
    title: str
    verdicts: frozenset[str]
    first: bool
    """True if the group stands before everything else."""

    @property
    def title_apart(self) -> str:
        """The title if the sides were not interleaved."""
        return f"Differ {BETWEEN_MEASUREMENTS}" if self.name == "changed" else self.title


GROUPS = (
    Group("changed", "Changed", CHANGED, first=True),
    Group("trouble", "Missing, failed or invalid", frozenset(TROUBLED), first=True),
    Group("likely", "Likely", frozenset({"likely"}), first=True),
    Group("inconclusive", "Inconclusive", frozenset({"inconclusive"}), first=False),
    Group("unchanged", "Unchanged", frozenset({"unchanged"}), first=False),
)

_FIRST = dict.fromkeys(CHANGED, 0) | {"likely": 1}

FOLDED = frozenset({"unchanged", "inconclusive"})
"""Verdicts whose rows are folded under a sweep that plots them."""


class Sortable(Protocol):
    """A row that can be sorted."""

    @property
    def suite(self) -> str: ...
    @property
    def benchmark(self) -> str: ...
    @property
    def params(self) -> Mapping[str, str]: ...
    @property
    def metric(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def size(self) -> float: ...
    @property
    def sure(self) -> float: ...


R = TypeVar("R", bound=Sortable)


def passes(verdict: str, wanted: str) -> bool:
    """True if a verdict passes one of FILTERS."""
    return verdict in CHANGED if wanted == "changed" else verdict == wanted


def sort_rows(rows: Iterable[R], by: str) -> list[R]:
    """Sorts rows by one of SORTS, then by name.

    By size, changed rows come first, then likely ones, then the rest.
    """
    named = sorted(rows, key=_name)
    if by == "name":
        return named
    if by == "certainty":
        return sorted(named, key=lambda row: -row.sure)
    return sorted(
        named, key=lambda row: (_FIRST.get(row.group, 2), -row.size if row.group in _FIRST else 0.0)
    )


def _name(row: Sortable) -> tuple[Any, ...]:
    params = ", ".join(f"{name}={value}" for name, value in row.params.items())
    return row.suite, row.benchmark, natural_key(params), row.metric


def natural_key(text: str) -> tuple[tuple[float, str], ...]:
    """A sort key with numbers in numeric order: nr_maps=2 before nr_maps=16."""
    parts = _DIGITS.split(text)
    return tuple((float(part), "") if part.isdecimal() else (-1.0, part) for part in parts)


def is_likely(row: ComparisonRow) -> bool:
    """True if an inconclusive row is worth a second look: its difference is notable and rarely chance."""
    if row.verdict != "inconclusive" or row.p is None or row.change is None:
        return False
    return row.p <= LIKELY and abs(row.change) >= row.threshold


def is_beyond_noise(row: ComparisonRow) -> bool:
    """True if the difference is real, notable or not. Reports show other rows as `~` and without colour."""
    return is_real(
        verdict=row.verdict, q=row.q, ci_low=row.ci_low, ci_high=row.ci_high, counted=row.p is None
    )


Standing = Literal["both", "regression", "trouble", "changed", "improvement", "unchanged", "inconclusive"]


def standing(counts: Mapping[str, int]) -> Standing:
    """The overall result of a comparison, from the number of rows with each verdict.

    The worst verdict decides.
    """
    if counts.get("regression"):
        return "both" if counts.get("improvement") else "regression"
    if any(counts.get(verdict) for verdict in TROUBLED):
        return "trouble"
    if counts.get("changed"):
        return "changed"
    if counts.get("improvement"):
        return "improvement"
    return "unchanged" if counts.get("unchanged") and not counts.get("inconclusive") else "inconclusive"


@dataclass(frozen=True, slots=True)
class Detectable:
    """Smallest changes that unchanged rows could have shown."""

    median: float
    """Half of the rows could have shown this change."""
    largest: float
    """All rows could have shown this change."""


def detectable(rows: Iterable[ComparisonRow]) -> Detectable | None:
    """The change that the unchanged primary rows would have shown: detectable, and not below the threshold.

    None if no row has a minimum detectable effect.
    """
    effects = [
        max(row.mde, row.threshold)
        for row in rows
        if row.primary and row.verdict == "unchanged" and row.mde is not None
    ]
    return Detectable(statistics.median(effects), max(effects)) if effects else None


def reported_reach(rows: Iterable[ComparisonRow]) -> list[float]:
    """Distance from zero to the far end of each reported row's interval, in rising order."""
    return sorted(
        max(abs(row.ci_low), abs(row.ci_high))
        for row in rows
        if row.verdict in CHANGES and row.ci_low is not None and row.ci_high is not None
    )


@dataclass(frozen=True, slots=True)
class ListedRows:
    """Rows that are listed."""

    rows: Sequence[ComparisonRow]
    others: str
    """How many rows are not listed, as text; empty if all are."""


def list_rows(rows: Sequence[ComparisonRow]) -> ListedRows:
    """All rows except unchanged rows of BPF programs, of which a suite of objects has thousands."""
    kept = [row for row in rows if row.verdict != "unchanged" or row.case.planned == row.case]
    if len(kept) == len(rows):
        return ListedRows(rows, "")
    programs = {row.case for row in rows if row.verdict == "unchanged" and row.case.planned != row.case}
    unlisted = count_noun(len(rows) - len(kept), "more row")
    objects = count_noun(len({case.planned for case in programs}), "object")
    return ListedRows(kept, f"{unlisted} of {count_noun(len(programs), 'program')} in {objects}: unchanged")
