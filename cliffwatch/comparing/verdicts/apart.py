"""What drift between sides that did not take turns takes from a row's verdict."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cliffwatch.catalogue.directions import is_timed
from cliffwatch.comparing.rows import Row
from cliffwatch.comparing.thresholds import BEYOND_COMMON
from cliffwatch.comparing.turns import CommonMovement, Turns
from cliffwatch.stats.boot_values import BootValues
from cliffwatch.stats.noise.between_sides import SideDrift

DRIFT = "drift"


class Apart(NamedTuple):
    """A row of sides that did not take turns; `common` is the movement that it shares with nearly all others."""

    common: CommonMovement | None

    @staticmethod
    def of(turns: Turns, row: Row) -> "Apart | None":
        """None where the sides took turns."""
        if turns.taken:
            return None
        return Apart(turns.common if is_timed(row.unit) else None)


class BetweenSides(NamedTuple):
    """What drift alone can do to a row, as logs.

    `p` is the probability of the row's difference by noise and drift alone, and `holds` that it is small enough among the rows of the
    family. `widening` belongs to either end of the row's interval; `detectable` is how much more than by noise alone a change must be.
    """

    p: float
    holds: bool
    widening: float
    detectable: float
    common: CommonMovement | None

    def reason(self) -> str:
        if self.common is not None:
            return f"{DRIFT}: nearly all times and rates moved by about {self.common.words}, and this one by no more than twice as much"
        size = f"{100 * math.expm1(self.detectable):.2g} %"
        return f"{DRIFT}: sides that did not take turns may differ by {size} more than by noise; measure them in turns"


def between_sides(
    family: Sequence[BootValues],
    apart: Sequence[Apart | None],
    *,
    shifts: Sequence[float],
    errors: Sequence[float],
    published: Sequence[float | None],
    row_error: float,
) -> list[BetweenSides | None]:
    """Of each row that is apart. `errors` are those of the rows' intervals, `published` those of changes where drift leaves them, and
    `row_error` what a row may err for the family to keep its promise.
    """
    found: list[BetweenSides | None] = [None] * len(family)
    chosen = [index for index, each in enumerate(apart) if each is not None]
    if not chosen:
        return found
    drift = SideDrift([family[index] for index in chosen])
    commons = [each.common for each in apart if each is not None]
    allowed = np.array([0.0 if each is None else BEYOND_COMMON * abs(each.size) for each in commons])
    p = drift.p(np.maximum(np.abs(np.array(shifts)[chosen]) - allowed, 0.0))
    holds = (p <= row_error).tolist()
    own = [
        published[index] if stands and published[index] is not None else errors[index]
        for index, stands in zip(chosen, holds, strict=True)
    ]
    widening = drift.allowances(np.array(own, dtype=float)) + allowed
    detectable = drift.allowances(np.full(len(chosen), row_error)) + allowed
    numbers = zip(p.tolist(), holds, widening.tolist(), detectable.tolist(), strict=True)
    for index, each, common in zip(chosen, numbers, commons, strict=True):
        found[index] = BetweenSides(*each, common)
    return found
