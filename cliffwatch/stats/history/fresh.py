"""Decides whether a fresh comparison confirms a candidate of a noisy series, and how large the next one is.

A candidate has at most two comparisons, each on its own boots, one-sided in the candidate's direction. They
share the error (Bonferroni), so a question that the first leaves open may be asked again. They contain no
data of the history that raised the candidate.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from cliffwatch.stats.power.detection import EFFICIENCY

ERROR = 0.001
"""Upper bound on the probability that either comparison confirms a candidate without a step."""

COMPARISONS = 2
"""Most comparisons per candidate."""
FIRST_BOOTS = 21
"""Boots per arm of the first comparison."""
MOST_BOOTS = 100
"""Each boot has its own layout, and a run has a hundred at most."""
POWER = 0.9
"""Power of the second comparison for `_SHARE` of the candidate's size.

History overstates steps that it barely detects.
"""

_SHARE = 0.75
_NORMAL = NormalDist()

FreshAnswer = Literal["confirmed", "refuted", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """What a fresh comparison read of a series, as fractions. Bounds are infinite if there are
    too few boots.
    """

    change: float
    """As a fraction."""
    low: float
    """Lower bound of the interval, as a fraction; infinite with too few boots."""
    high: float
    """Upper bound of the interval; infinite with too few boots."""
    level: float
    """Level of the interval."""
    p: float
    """Two-sided."""
    boots: int
    """Boots of the smaller arm."""

    @property
    def spread(self) -> float:
        """Standard deviation over boots as a fraction, from the interval's width; 0 if that is infinite."""
        half = (self.high - self.low) / 2
        if not math.isfinite(half):
            return 0.0
        return half / _NORMAL.inv_cdf(0.5 + self.level / 2) / math.sqrt(2 / self.boots / EFFICIENCY)


def judge_fresh(size: float, fresh: Fresh, number: int) -> FreshAnswer:
    """The answer of the `number`-th comparison (from 1) on a candidate of `size`, a signed fraction.

    Confirmed from half of the step upwards. Refuted if the interval excludes half of the step. The last
    comparison leaves nothing open.
    """
    direction, least = math.copysign(1.0, size), abs(size) / 2
    if direction * fresh.change >= least and fresh.p / 2 <= ERROR / COMPARISONS:
        return "confirmed"
    reach = max(direction * fresh.low, direction * fresh.high)
    return "refuted" if number >= COMPARISONS or reach < least else "open"


def next_boots(size: float, fresh: Fresh) -> int:
    """Boots of each arm for the comparison after one that left the candidate open."""
    quantiles = _NORMAL.inv_cdf(1 - ERROR / COMPARISONS) + _NORMAL.inv_cdf(POWER)
    needed = 2 * (quantiles * fresh.spread / (_SHARE * abs(size))) ** 2 / EFFICIENCY
    return min(MOST_BOOTS, max(FIRST_BOOTS, math.ceil(needed)))
