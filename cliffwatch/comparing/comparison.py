"""One comparison, and the set of them that a report is written from."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from cliffwatch.formats.verdicts import Control, Mean, Sweep, Verdict
from cliffwatch.samples import Assume, Better, CaseKey, CaseOutcome, Mode

VERDICTS: tuple[Verdict, ...] = (
    "failed",
    "regression",
    "improvement",
    "changed",
    "unchanged",
    "inconclusive",
    "missing",
    "invalid",
)
"""In the order in which a headline counts them: what failed comes first, as it does in tables."""

CHANGES: tuple[Verdict, ...] = ("regression", "improvement", "changed")
"""Verdicts that report a change; `changed` where nobody said which way is better."""

DECIDED: frozenset[Verdict] = frozenset({*CHANGES, "unchanged"})
"""Verdicts whose change may be read as it is; every other one is marked wherever a change would stand."""

TROUBLED: tuple[Verdict, ...] = ("failed", "missing", "invalid")
"""Verdicts on rows in which nothing could be compared."""

LESS_LOOP = "-less-loop"
"""After the name of a metric of which the empty loop of its benchmark is subtracted."""

NOT_IN_TURNS = "Nothing says that base and head took turns"
"""How the first warning begins where they did not, in documents too."""

BETWEEN_MEASUREMENTS = "between the two measurements"
"""What a change of sides that did not take turns is told as: nothing says that it is one of the kernels."""

METHOD_VERSION = 7
"""Raised when the same samples could get another verdict."""


def took_turns(warnings: Iterable[str]) -> bool:
    """Whether nothing among the warnings of a comparison says that its sides did not."""
    return not any(warning.startswith(NOT_IN_TURNS) for warning in warnings)


def _unknown() -> None:
    """The spread of a side whose boots are not at hand."""


def _no_steps() -> tuple[str, ...]:
    """The steps to a verdict that was not made here, or without any."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Base against head for one metric of one case. A value that does not exist is None."""

    case: CaseKey
    metric: str
    unit: str
    better: Better | None
    assume: Assume
    primary: bool
    platform: str | None
    mode: Mode | None
    threshold: float
    """Smallest change reported for this row, a fraction."""
    interval_level: float | None
    """Confidence level of `ci_low` to `ci_high`: 0.95 for a published change, given its publication; for an
    unchanged row the level that rules out `threshold`; else 0.99. None for the repeatability band of a
    counted value.
    """
    n_base: int
    """Boots."""
    n_head: int
    """Boots."""
    base: float | None
    """Centre, in `unit`."""
    head: float | None
    """Centre, in `unit`."""
    change: float | None
    """Fraction of base."""
    ci_low: float | None
    """Fraction of base."""
    ci_high: float | None
    """Fraction of base."""
    p: float | None
    q: float | None
    """p after control over the family."""
    mde: float | None
    """Smallest detectable change, a fraction of base."""
    verdict: Verdict
    reason: str
    """Why the verdict is what it is."""
    needs: int | None = None
    """Boots per arm, in all, that would decide an inconclusive row."""
    notes: tuple[str, ...] = ()
    """What else a reader should know of the row."""
    spreads: tuple[Callable[[], float | None], Callable[[], float | None]] = field(
        default=(_unknown, _unknown), compare=False, repr=False
    )
    """Standard deviations over boots, as fractions of the mean; computed on demand, since few rows show them.
    """
    explained: Callable[[], tuple[str, ...]] = field(default=_no_steps, compare=False, repr=False)
    """Steps to the verdict with their numbers; computed on demand."""

    @property
    def base_spread(self) -> float | None:
        return self.spreads[0]()

    @property
    def head_spread(self) -> float | None:
        return self.spreads[1]()

    @property
    def steps(self) -> tuple[str, ...]:
        return self.explained()


class Sized(Protocol):
    """A row with its verdict and its change."""

    @property
    def verdict(self) -> Verdict: ...
    @property
    def change(self) -> float | None: ...


def size_of(row: Sized) -> float:
    """How large a change is: infinite where it is one and has no percentage; 0 where there is none."""
    if row.change is None:
        return math.inf if row.verdict in CHANGES else 0.0
    return abs(row.change)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFacts:
    """What a report says of one side: its label and facts such as the commit and the compiler; `name` is the
    arm's, empty where it is known by its side.
    """

    label: str
    facts: Mapping[str, str]
    boots: int
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSet:
    """All comparisons of two arms."""

    base: SideFacts
    head: SideFacts
    platform: str | None
    mode: Mode | None
    notable: float
    """The report's threshold, a fraction."""
    alpha: float
    """Family-wise error rate."""
    rows: tuple[Comparison, ...]
    left_out: tuple[CaseOutcome, ...]
    """Cases that neither side was asked to run, with the reason."""
    means: tuple[Mean, ...] = ()
    control: Control | None = None
    sweeps: tuple[Sweep, ...] = ()
    waiting: tuple[CaseKey, ...] = ()
    """Cases that the plan's next look would measure again; empty if all is decided or the plan is at its end.
    """
    next_look: int = 0
    """Boots per arm that this look needs."""
    warnings: tuple[str, ...] = ()
    """Sentences without which no row should be read."""
    took_turns: bool = True
    """False if the host may have drifted between the sides: rows then differ between two measurements."""

    def primary_rows(self) -> tuple[Comparison, ...]:
        return tuple(row for row in self.rows if row.primary)

    def table_rows(self) -> tuple[Comparison, ...]:
        """Primary rows, each followed by itself less the empty loop where that was measured."""
        return tuple(row for row in self.rows if row.primary or row.metric.endswith(LESS_LOOP))

    def changed_rows(self) -> tuple[Comparison, ...]:
        """Primary rows that report a change."""
        return tuple(row for row in self.primary_rows() if row.verdict in CHANGES)

    def open_rows(self) -> tuple[Comparison, ...]:
        """Primary rows whose change may not be read as it is: every report says why."""
        return tuple(row for row in self.primary_rows() if row.verdict not in DECIDED)

    def headline(self) -> Comparison | None:
        """The row to name first: the largest regression, else the largest improvement, else the largest
        change that is neither.
        """
        for verdict in CHANGES:
            rows = [row for row in self.changed_rows() if row.verdict == verdict]
            if rows:
                return max(rows, key=size_of)
        return None

    def unchanged_builds(self) -> frozenset[CaseKey]:
        """The cases that were not measured, since nothing that they execute differs."""
        return frozenset(outcome.case for outcome in self.left_out if outcome.status == "unchanged-build")

    def counts(self) -> dict[Verdict, int]:
        """How many primary rows have each verdict."""
        return {verdict: sum(row.verdict == verdict for row in self.primary_rows()) for verdict in VERDICTS}
