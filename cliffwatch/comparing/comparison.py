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
    """Base against head for one metric of one case.

    `base` and `head` are centres in `unit`; `change`, `ci_low`, `ci_high` and `mde` are fractions of base; `q` is `p`
    after control over the family. What does not exist is None. `reason` says why the verdict is what it is, `notes` what
    else a reader should know of the row, `steps` how the verdict came about, with the numbers. `threshold` is the smallest
    change that is reported for this row, a fraction; `interval_level` is that of the confidence interval `ci_low` to `ci_high`:
    0.95 of a published change (given that it was published), that which rules out a change of `threshold` of an unchanged row (0.9 in one stage),
    else 0.99; None where they are the band within which a counted value repeats. `needs` is the number of boots
    an arm, in all, that would decide an inconclusive row; spreads are standard deviations over boots, as fractions of the mean. Spreads
    and steps are worked out when they are asked for: few rows of a report show them.
    """

    case: CaseKey
    metric: str
    unit: str
    better: Better | None
    assume: Assume
    primary: bool
    platform: str | None
    mode: Mode | None
    threshold: float
    interval_level: float | None
    n_base: int
    n_head: int
    base: float | None
    head: float | None
    change: float | None
    ci_low: float | None
    ci_high: float | None
    p: float | None
    q: float | None
    mde: float | None
    verdict: Verdict
    reason: str
    needs: int | None = None
    notes: tuple[str, ...] = ()
    spreads: tuple[Callable[[], float | None], Callable[[], float | None]] = field(
        default=(_unknown, _unknown), compare=False, repr=False
    )
    explained: Callable[[], tuple[str, ...]] = field(default=_no_steps, compare=False, repr=False)

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
    """What a report says of one side: its label and facts such as the commit and the compiler; `name` is the arm's, empty where it is
    known by its side.
    """

    label: str
    facts: Mapping[str, str]
    boots: int
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSet:
    """All comparisons of two arms. `left_out` are cases that neither side was asked to run, with the reason.

    `waiting` are the cases whose rows a further stage of the plan would look at again, with the boots an arm that the next
    look needs; empty where all is decided or the plan is at its end. `warnings` are sentences without which no row should be read.
    `took_turns` is False where the host may have drifted between the sides: rows then differ between two measurements, not two kernels.
    """

    base: SideFacts
    head: SideFacts
    platform: str | None
    mode: Mode | None
    notable: float
    alpha: float
    rows: tuple[Comparison, ...]
    left_out: tuple[CaseOutcome, ...]
    means: tuple[Mean, ...] = ()
    control: Control | None = None
    sweeps: tuple[Sweep, ...] = ()
    waiting: tuple[CaseKey, ...] = ()
    next_look: int = 0
    warnings: tuple[str, ...] = ()
    took_turns: bool = True

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
        """The row to name first: the largest regression, else the largest improvement, else the largest change that is neither."""
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
