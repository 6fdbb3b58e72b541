"""One comparison, and the set of comparisons that a report is written from."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Control, Mean, Sweep, Verdict
from cliffwatch.samples import CaseKey, CaseOutcome, Mode

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
"""In the order of a headline. Failures come first, as they do in tables."""

CHANGES: tuple[Verdict, ...] = ("regression", "improvement", "changed")
"""Verdicts that report a change; `changed` if nobody declared which way is better."""

DECIDED: frozenset[Verdict] = frozenset({*CHANGES, "unchanged"})
"""Verdicts whose change stands. With any other verdict, reports mark the change."""

TROUBLED: tuple[Verdict, ...] = ("failed", "missing", "invalid")
"""Verdicts on rows that could not be compared."""

LESS_LOOP = "-less-loop"
"""Suffix of a metric that has the empty loop of its benchmark subtracted."""

NOT_IN_TURNS = "Nothing says that base and head took turns"
"""First words of the warning that the arms were not interleaved.

Documents store it, and readers look for it.
"""

BETWEEN_MEASUREMENTS = "between the two measurements"
"""How reports describe a change if the sides were not interleaved: nothing shows that a kernel made it."""

METHOD_VERSION = 9
"""Incremented when the same samples could get another verdict."""


def took_turns(warnings: Iterable[str]) -> bool:
    """True unless a warning of the comparison says that the sides were not interleaved."""
    return not any(warning.startswith(NOT_IN_TURNS) for warning in warnings)


def _no_steps() -> tuple[str, ...]:
    """The steps of a row that has no verdict yet."""
    return ()


class Comparison(ComparisonRow, frozen=True, kw_only=True):
    """A row whose boots are at hand. Its spreads and steps are computed on demand: few reports show them."""

    spreads: tuple[Callable[[], float | None], Callable[[], float | None]]
    """Compute `base_spread` and `head_spread`."""
    explained: Callable[[], tuple[str, ...]] = _no_steps
    """Computes `steps`."""

    @property
    def base_spread(self) -> float | None:
        return self.spreads[0]()

    @property
    def head_spread(self) -> float | None:
        return self.spreads[1]()

    @property
    def steps(self) -> tuple[str, ...]:
        return self.explained()


class ChangedRow(Protocol):
    """A row of a comparison, or a change that a regression report keeps."""

    @property
    def unit(self) -> str: ...
    @property
    def verdict(self) -> Verdict: ...
    @property
    def base(self) -> float | None: ...
    @property
    def head(self) -> float | None: ...
    @property
    def change(self) -> float | None: ...
    @property
    def mode(self) -> Mode | None: ...


def size_of(row: ChangedRow) -> float:
    """Size of a change: infinite for a change without a percentage, 0 for no change."""
    if row.change is None:
        return math.inf if row.verdict in CHANGES else 0.0
    return abs(row.change)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFacts:
    """What a report says about one side."""

    label: str
    facts: Mapping[str, str]
    """Such as the commit and the compiler."""
    boots: int
    layouts: int = 1
    """Layouts that these boots had; 1 if only one is known."""
    name: str = ""
    """Name of the arm; empty if its side identifies it."""


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
    rows: tuple[ComparisonRow, ...]
    left_out: tuple[CaseOutcome, ...]
    """Cases that neither side was asked to run, with the reason."""
    means: tuple[Mean, ...] = ()
    control: Control | None = None
    sweeps: tuple[Sweep, ...] = ()
    waiting: tuple[CaseKey, ...] = ()
    """Cases that a further look of the plan would examine; empty if all are decided or the plan has ended."""
    next_look: int = 0
    """Boots per arm that the next look needs; 0 if none is left."""
    warnings: tuple[str, ...] = ()
    """Sentences that must accompany every row."""
    took_turns: bool = True
    """False if the arms were not interleaved.

    The host may then have drifted between the sides: rows differ between two measurements, not two kernels.
    """

    def primary_rows(self) -> tuple[ComparisonRow, ...]:
        return tuple(row for row in self.rows if row.primary)

    def table_rows(self) -> tuple[ComparisonRow, ...]:
        """Primary rows, each followed by its row less the empty loop, if that was measured."""
        return tuple(row for row in self.rows if row.primary or row.metric.endswith(LESS_LOOP))

    def changed_rows(self) -> tuple[ComparisonRow, ...]:
        """Primary rows that report a change."""
        return tuple(row for row in self.primary_rows() if row.verdict in CHANGES)

    def open_rows(self) -> tuple[ComparisonRow, ...]:
        """Primary rows whose change does not stand. Every report gives the reason."""
        return tuple(row for row in self.primary_rows() if row.verdict not in DECIDED)

    def headline(self) -> ComparisonRow | None:
        """The row to name first; None without changes.

        The largest regression, else the largest improvement, else the largest change that is neither.
        """
        for verdict in CHANGES:
            rows = [row for row in self.changed_rows() if row.verdict == verdict]
            if rows:
                return max(rows, key=size_of)
        return None

    def unchanged_builds(self) -> frozenset[CaseKey]:
        """Cases that were not measured because nothing they execute differs."""
        return frozenset(outcome.case for outcome in self.left_out if outcome.status == "unchanged-build")

    def counts(self) -> dict[Verdict, int]:
        """Number of primary rows with each verdict."""
        return {verdict: sum(row.verdict == verdict for row in self.primary_rows()) for verdict in VERDICTS}
