"""Equivalence: shows that a change is smaller than a margin. Failing to detect a change does not show that.

Two one-sided tests by the rank interval (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15,
1987). The error is split over the looks: three looks at 5 % each would err 10 % of the time at the margin.
"""

import math

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.ranks import Ranked

ALPHA = 0.05
"""Error rate of the verdict `unchanged`, over all looks at one metric."""


def equivalent(ranked: Ranked, *, margin: float, look: int, looks: int) -> NDArray[np.bool_]:
    """True where the interval excludes a shift of `margin`, a fraction, in both directions.

    `look` is 0, 1, … of `looks` planned.
    """
    low, high = ranked.interval(level_of_look(look, looks))
    return np.asarray((low > math.log1p(-margin)) & (high < math.log1p(margin)))


def level_of_look(look: int, looks: int) -> float:
    """Level of the interval that a look compares with the margin. Both of its sides may err."""
    return 1 - 2 * error_of_look(look, looks)


def error_of_look(look: int, looks: int) -> float:
    """Error that a look may spend, in proportion to its number: later looks have more boots."""
    return ALPHA * 2 * (look + 1) / (looks * (looks + 1))
