"""What readers get first: which verdicts are reported, how rows are grouped, filtered and sorted, what a set
could detect.

Works on comparisons and on rows of Comparison JSON (docs/formats.md), so that pages decide like every
report.
"""

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from cliffwatch.comparing.comparison import BETWEEN_MEASUREMENTS, CHANGES, TROUBLED, Comparison
from cliffwatch.comparing.thresholds import LIKELY, is_real
from cliffwatch.counting import count_noun
from cliffwatch.formats.verdicts import Verdict

_DIGITS = re.compile(r"(\d+)")
ORDER = ("disagree", *CHANGES, *TROUBLED, "inconclusive", "unchanged")
"""Verdicts of a case over all targets, from what a reader must see to what he may skip."""

COUNTED = ("failed", *(verdict for verdict in ORDER if verdict != "failed"))
"""The same in the order in which a headline counts them."""

CHANGED = frozenset((*CHANGES, "disagree"))
FILTERS = ("changed", *(verdict for verdict in ORDER if verdict != "changed"))
"""What rows may be chosen by: a verdict, or `changed` for all that changed, which has those in it that nobody
judged.
"""

SORTS = ("size", "certainty", "name")


@dataclass(frozen=True, slots=True)
class Group:
    """Verdicts that are listed together; `first` are the groups that stand before everything else."""

    name: str
    title: str
    verdicts: frozenset[str]
    first: bool

    @property
    def title_apart(self) -> str:
        """The title where sides did not take turns."""
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
"""Verdicts whose rows are folded under a sweep that draws them."""


class Sortable(Protocol):
    """A row as it is sorted: `size` is its largest change, `sure` the change that is there at least."""

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


class Judged(Protocol):
    """A row with its verdict: a comparison, or a row of a document."""

    @property
    def verdict(self) -> Verdict: ...
    @property
    def primary(self) -> bool: ...
    @property
    def threshold(self) -> float: ...
    @property
    def change(self) -> float | None: ...
    @property
    def ci_low(self) -> float | None: ...
    @property
    def ci_high(self) -> float | None: ...
    @property
    def p(self) -> float | None: ...
    @property
    def q(self) -> float | None: ...
    @property
    def mde(self) -> float | None: ...


R = TypeVar("R", bound=Sortable)


def passes(verdict: str, wanted: str) -> bool:
    """Whether a verdict passes one of FILTERS."""
    return verdict in CHANGED if wanted == "changed" else verdict == wanted


def sort_rows(rows: Iterable[R], by: str) -> list[R]:
    """By one of SORTS; what that leaves equal is in the order of names. By size, changed rows go before
    likely ones, and those before the rest.
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
    """A key that sorts as people count: nr_maps=2 before nr_maps=16."""
    parts = _DIGITS.split(text)
    return tuple((float(part), "") if part.isdecimal() else (-1.0, part) for part in parts)


def likely(row: Judged) -> bool:
    """Whether an inconclusive row is worth a second look: chance alone makes as much of a difference rarely,
    and it is no small one.
    """
    if row.verdict != "inconclusive" or row.p is None or row.change is None:
        return False
    return row.p <= LIKELY and abs(row.change) >= row.threshold


def beyond_noise(row: Judged) -> bool:
    """Whether the difference is real, notable or not: the rest is shown as `~` and without colour."""
    return is_real(
        verdict=row.verdict, q=row.q, ci_low=row.ci_low, ci_high=row.ci_high, counted=row.p is None
    )


Standing = Literal["both", "regression", "trouble", "changed", "improvement", "unchanged", "inconclusive"]


def standing(counts: Mapping[str, int]) -> Standing:
    """A whole comparison in one word, from how many rows have each verdict: the worst of them decides."""
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
    """The smallest changes that unchanged rows could have shown: half of them one of `median`, all of them
    `largest`.
    """

    median: float
    largest: float


def detectable(rows: Iterable[Judged]) -> Detectable | None:
    """Of the unchanged rows that decide their case; None where none has a minimum detectable effect."""
    effects = [row.mde for row in rows if row.primary and row.verdict == "unchanged" and row.mde is not None]
    return Detectable(statistics.median(effects), max(effects)) if effects else None


def reported_reach(rows: Iterable[Judged]) -> list[float]:
    """How far the intervals of reported rows reach from zero, the nearest first."""
    return sorted(
        max(abs(row.ci_low), abs(row.ci_high))
        for row in rows
        if row.verdict in CHANGES and row.ci_low is not None and row.ci_high is not None
    )


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows that are listed, and in words how many are not; empty where all are."""

    rows: Sequence[Comparison]
    others: str


def listed(rows: Sequence[Comparison]) -> Listed:
    """All rows but the unchanged ones of BPF programs, of which a suite of objects has thousands."""
    kept = [row for row in rows if row.verdict != "unchanged" or row.case.planned == row.case]
    if len(kept) == len(rows):
        return Listed(rows, "")
    programs = {row.case for row in rows if row.verdict == "unchanged" and row.case.planned != row.case}
    unlisted = count_noun(len(rows) - len(kept), "more row")
    objects = count_noun(len({case.planned for case in programs}), "object")
    return Listed(kept, f"{unlisted} of {count_noun(len(programs), 'program')} in {objects}: unchanged")
