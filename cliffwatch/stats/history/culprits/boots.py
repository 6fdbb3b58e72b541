"""How many boots tell a commit with a change from one without, when the change's size is known."""

import math
from statistics import NormalDist

from cliffwatch.stats.power.detection import EFFICIENCY

LEAST_BOOTS = 5
MOST_BOOTS = 200
_NORMAL = NormalDist()


def steps_of(commits: int) -> int:
    """Comparisons that a bisection of so many commits takes along a line."""
    return max(1, math.ceil(math.log2(max(1, commits))))


def boots_per_step(change: float, spread: float, error: float, steps: int) -> int:
    """Boots per arm with which one of `steps` comparisons is wrong with a probability of at most `error` in
    all (Bonferroni's bound).

    A commit counts as changed from half of `change` on, the least that the change may be; it and `spread`,
    the standard deviation over boots, are fractions of the base. For normal noise; boots are raised by the
    efficiency of ranks to that of means, 3/pi, since the change is a shift by ranks.
    """
    if not change:
        return MOST_BOOTS
    quantile = _NORMAL.inv_cdf(1 - error / steps)
    needed = 2 * (quantile * spread / (abs(change) / 2)) ** 2 / EFFICIENCY
    return min(MOST_BOOTS, max(LEAST_BOOTS, math.ceil(needed)))


def error_of(change: float, spread: float, boots: int, steps: int) -> float:
    """The probability, at most, that any of `steps` comparisons of so many boots per arm is wrong."""
    if spread <= 0:
        return 0.0
    shift = abs(change) / 2 / (spread * math.sqrt(2 / boots / EFFICIENCY))
    return min(1.0, steps * (1 - _NORMAL.cdf(shift)))
