"""Showing that nothing changed by as much as a margin, which is more than failing to detect a change.

Two one-sided tests by the rank interval (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15,
1987), the error split over the looks: whoever looks three times at 5 % is wrong at the margin one time in
ten.
"""

import math

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.ranks import Ranked

ALPHA = 0.05
"""The error of `unchanged`, over all looks at one metric."""


def equivalent(ranked: Ranked, *, margin: float, look: int, looks: int) -> NDArray[np.bool_]:
    """Whether a shift of `margin` (a fraction, to either side) is ruled out at look 0, 1, … of `looks`
    planned.
    """
    low, high = ranked.interval(level_of_look(look, looks))
    return np.asarray((low > math.log1p(-margin)) & (high < math.log1p(margin)))


def level_of_look(look: int, looks: int) -> float:
    """The level of the interval that a look holds against the margin: both of its sides may err."""
    return 1 - 2 * error_of_look(look, looks)


def error_of_look(look: int, looks: int) -> float:
    """The error that a look may spend: in proportion to its number, as later looks have more boots to spend
    it on.
    """
    return ALPHA * 2 * (look + 1) / (looks * (looks + 1))
