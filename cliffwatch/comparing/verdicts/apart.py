"""Adjusts verdicts for drift between sides that were not interleaved."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cliffwatch.catalogue.directions import is_timed
from cliffwatch.comparing.rows import Row
from cliffwatch.comparing.thresholds import BEYOND_COMMON
from cliffwatch.comparing.turns import CommonMovement, Turns
from cliffwatch.counting import range_words
from cliffwatch.stats.boot_values import BootValues
from cliffwatch.stats.deciding import Decision
from cliffwatch.stats.noise.between_sides import SideDrift
from cliffwatch.stats.published_size import LEVEL
from cliffwatch.stats.summaries import Summary

DRIFT = "drift"


class Apart(NamedTuple):
    """A row of sides that were not interleaved."""

    common: CommonMovement | None
    """Movement that the row shares with nearly all others; None without one."""

    @staticmethod
    def of(turns: Turns, row: Row) -> "Apart | None":
        """None if the sides were interleaved."""
        if turns.taken:
            return None
        return Apart(turns.common if is_timed(row.unit) else None)


class BetweenSides(NamedTuple):
    """What drift alone can do to a row. Sizes are logs."""

    p: float
    """p-value of the row's difference by noise and drift alone."""
    holds: bool
    """True if `p` is small enough for a row of the family."""
    widening: float
    """Added to either end of the row's interval."""
    detectable: float
    """How much larger than by noise alone a change must be."""
    common: CommonMovement | None

    def words(self) -> str:
        """The drift as a step of an explanation."""
        if not self.detectable:
            return "sides that did not take turns: values that repeat exactly do not drift"
        return (
            "sides that did not take turns: noise and drift alone make as much of a difference with p ="
            f" {self.p:.2g}; {math.expm1(self.widening):.2%} of drift is on either side of the interval"
        )

    def hides(self, decision: Decision, summary: Summary, threshold: float, least: int) -> bool:
        """True if drift alone could explain the decision, or keeps a row of `least` boots undecided.

        `threshold` is the notable change, a fraction.
        """
        low, high = self.widened(summary.low, summary.high, None)
        ruled_out = low > math.log1p(-threshold) and high < math.log1p(threshold)
        match decision.outcome:
            case "changed":
                return not self.holds
            case "changed-small":
                return not self.holds and not ruled_out
            case "equivalent":
                return not ruled_out
        enough = min(len(decision.used.base), len(decision.used.head)) >= least
        return enough and 2 * self.widening >= summary.high - summary.low

    def widened(self, low: float, high: float, published: float | None) -> tuple[float, float]:
        """Adds drift to an interval of logs.

        `published` is the log of a published change; its interval ends at 0, because its direction was
        published. None if the row publishes no change.
        """
        low, high = low - self.widening, high + self.widening
        if published is None:
            return low, high
        return (max(low, 0.0), high) if published > 0 else (low, min(high, 0.0))


def reasons_of(drifts: Sequence[BetweenSides | None], hidden: Sequence[bool]) -> list[str | None]:
    """The reason of each row that drift hides; None for others.

    All rows share one sentence, with the range of drift over the rows.
    """
    chosen = [each for each, is_hidden in zip(drifts, hidden, strict=True) if is_hidden and each is not None]
    alone = [each.detectable for each in chosen if each.common is None]
    size = range_words([100 * math.expm1(each) for each in alone])
    of_noise = (
        f"{DRIFT}: sides that did not take turns may differ by {size} % more than by noise; measure them in"
        " turns"
    )
    return [
        (
            (of_noise if each.common is None else _in_common(each.common))
            if is_hidden and each is not None
            else None
        )
        for each, is_hidden in zip(drifts, hidden, strict=True)
    ]


def _in_common(moved: CommonMovement) -> str:
    return (
        f"{DRIFT}: nearly all times and rates moved by about {moved.words}, and this one by no more than"
        " twice as much"
    )


def between_sides(
    family: Sequence[BootValues],
    apart: Sequence[Apart | None],
    decisions: Sequence[Decision],
    summaries: Sequence[Summary],
    *,
    level: float,
    row_error: float,
) -> list[BetweenSides | None]:
    """Drift of each row that is apart; None for others.

    - `level`: level of intervals whose test has no level of its own.
    - `row_error`: error of one row that keeps the family's error.
    """
    found: list[BetweenSides | None] = [None] * len(family)
    chosen = [index for index, each in enumerate(apart) if each is not None]
    if not chosen:
        return found
    drift = SideDrift([family[index] for index in chosen])
    commons = [each.common for each in apart if each is not None]
    allowed = np.array([0.0 if each is None else BEYOND_COMMON * abs(each.size) for each in commons])
    shifts = np.array([summaries[index].shift for index in chosen])
    p = drift.p(np.maximum(np.abs(shifts) - allowed, 0.0))
    holds = (p <= row_error).tolist()
    levels = [
        LEVEL if stands and decisions[index].outcome == "changed" else decisions[index].level or level
        for index, stands in zip(chosen, holds, strict=True)
    ]
    widening = drift.allowances(1 - np.array(levels)) + allowed
    detectable = drift.allowances(np.full(len(chosen), row_error)) + allowed
    numbers = zip(p.tolist(), holds, widening.tolist(), detectable.tolist(), strict=True)
    for index, each, common in zip(chosen, numbers, commons, strict=True):
        found[index] = BetweenSides(*each, common)
    return found
