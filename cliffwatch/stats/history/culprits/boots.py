"""How many boots distinguish a commit with a change of known size from a commit without it."""

import math
from statistics import NormalDist

from cliffwatch.stats.power.detection import EFFICIENCY

LEAST_BOOTS = 5
MOST_BOOTS = 100
"""Each boot has its own layout, and a run has a hundred at most."""
_NORMAL = NormalDist()


def steps_of(commits: int) -> int:
    """Comparisons that a bisection of this many commits takes along a line."""
    return max(1, math.ceil(math.log2(max(1, commits))))


def boots_per_step(change: float, spread: float, error: float, steps: int) -> int:
    """Boots per arm that keep the error of all `steps` comparisons together at most `error` (Bonferroni).

    `change` and `spread` are fractions of the base; `spread` is the standard deviation over boots. A commit
    counts as changed from half of `change`, the smallest the change may be.

    Assumes normal noise. The change is a shift by ranks, so the number for means is divided by the ranks'
    efficiency, 3/pi.
    """
    if not change:
        return MOST_BOOTS
    quantile = _NORMAL.inv_cdf(1 - error / steps)
    needed = 2 * (quantile * spread / (abs(change) / 2)) ** 2 / EFFICIENCY
    return min(MOST_BOOTS, max(LEAST_BOOTS, math.ceil(needed)))


def error_of(change: float, spread: float, boots: int, steps: int) -> float:
    """Upper bound on the probability that any of `steps` comparisons with `boots` per arm is wrong."""
    if spread <= 0:
        return 0.0
    shift = abs(change) / 2 / (spread * math.sqrt(2 / boots / EFFICIENCY))
    return min(1.0, steps * (1 - _NORMAL.cdf(shift)))
