"""Drift within a run: a host that grows slower while it measures.

Kendall's tau of the boots, each less the centre of its arm, against their order (Mann, Econometrica 13, 1945), with the
slope of Theil and Sen. Interleaved arms share a drift, so that it widens intervals; arms one after the other do not.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import two_samples

SURE = 0.001
_FEWEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """`total` is the drift from first to last boot, as a shift of logs; `p` that there is none."""

    total: float
    p: float


def drift(values: Values, order: Values, arms: Values) -> Drift | None:
    """Of boots with log `values` at places `order`, of arms 0 and 1; None of fewer than eight boots or all alike."""
    if len(values) < _FEWEST:
        return None
    level = np.array([np.median(values[arms == arm]) for arm in (0, 1)])
    rest = values - level[arms.astype(int)]
    if np.ptp(rest) == 0 or np.ptp(order) == 0:
        return None
    return Drift(total=slope(order, rest) * float(np.ptp(order)), p=trend(order, rest))


def interleaved(order: Values, arms: Values) -> bool:
    """Whether the arms took turns: a rank test of their places, which a plan in blocks passes and one arm after the other fails."""
    first, second = order[arms == 0], order[arms == 1]
    if len(first) < 3 or len(second) < 3:
        return True
    return float(two_samples(first, second).p()) > SURE


def trend(order: Values, rest: Values) -> float:
    """Kendall's test by its normal approximation, good from eight values on."""
    score = float(np.sign(np.subtract.outer(order, order) * np.subtract.outer(rest, rest)).sum() / 2)
    count = len(order)
    return float(2 * special.ndtr(-abs(score) / np.sqrt(count * (count - 1) * (2 * count + 5) / 18)))


def slope(order: Values, rest: Values) -> float:
    """The median of the slopes between all pairs."""
    first, second = np.triu_indices(len(order), 1)
    apart = order[second] != order[first]
    first, second = first[apart], second[apart]
    return float(np.median((rest[second] - rest[first]) / (order[second] - order[first])))
