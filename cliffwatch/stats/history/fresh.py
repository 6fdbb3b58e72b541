"""Whether a fresh comparison confirms a candidate of a noisy series, and how many boots the next one needs.

A candidate has at most two comparisons, each of boots of its own, one-sided in the candidate's direction;
they share the error (Bonferroni), so that what the first one leaves open may be asked again. Nothing of
the history that raised the candidate is in them.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from cliffwatch.stats.power.detection import EFFICIENCY

ERROR = 0.001
"""The probability, at most, that a candidate without a step is confirmed, by either comparison."""

COMPARISONS = 2
FIRST_BOOTS = 21
MOST_BOOTS = 105
POWER = 0.9
"""With which the second comparison detects three quarters of the candidate's size: history overstates the
steps that it barely shows.
"""

_SHARE = 0.75
_NORMAL = NormalDist()

FreshAnswer = Literal["confirmed", "refuted", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """What a fresh comparison read of a series, as fractions. Bounds are infinite if there are too few boots."""

    change: float
    low: float
    high: float
    level: float
    """Of the interval `low` to `high`."""
    p: float
    """Two-sided."""
    boots: int
    """Of the smaller arm."""

    @property
    def spread(self) -> float:
        """The standard deviation over boots as a fraction, by the width of the interval; 0 where there is no
        interval.
        """
        half = (self.high - self.low) / 2
        if not math.isfinite(half):
            return 0.0
        return half / _NORMAL.inv_cdf(0.5 + self.level / 2) / math.sqrt(2 / self.boots / EFFICIENCY)


def judged_fresh(size: float, fresh: Fresh, number: int) -> FreshAnswer:
    """What the `number`-th comparison (from 1) says of a candidate of `size`, a signed fraction. It is
    confirmed by half of the step and more, and refuted where so much is ruled out; the last comparison
    leaves nothing open.
    """
    direction, least = math.copysign(1.0, size), abs(size) / 2
    if direction * fresh.change >= least and fresh.p / 2 <= ERROR / COMPARISONS:
        return "confirmed"
    reach = max(direction * fresh.low, direction * fresh.high)
    return "refuted" if number >= COMPARISONS or reach < least else "open"


def next_boots(size: float, fresh: Fresh) -> int:
    """Boots of each arm for the comparison after one that left a candidate open."""
    quantiles = _NORMAL.inv_cdf(1 - ERROR / COMPARISONS) + _NORMAL.inv_cdf(POWER)
    needed = 2 * (quantiles * fresh.spread / (_SHARE * abs(size))) ** 2 / EFFICIENCY
    return min(MOST_BOOTS, max(FIRST_BOOTS, math.ceil(needed)))
