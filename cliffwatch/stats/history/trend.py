"""Slow drift: a series that grows a little with every commit and never steps."""

from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.history.winsorize import winsorize
from cliffwatch.stats.noise.drifts import kendall_p, slopes_of
from cliffwatch.stats.rank_tables import Values

SURE = 1e-3
"""Largest p-value of a reported trend."""
LEAST = 0.02
"""Smallest reported change over the series, a fraction."""
_BLOCK = 10
_FEWEST_BLOCKS = 8
FEWEST = _BLOCK * _FEWEST_BLOCKS
"""Fewest points of a series with a trend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A trend of a series."""

    total: float
    """Change over the series as a fraction."""
    p: float
    """p-value of no trend."""


def slow_trend(logs: Values) -> Trend | None:
    """The trend of a series without steps, by Kendall's tau of means of ten points.

    Autocorrelation hardly affects such means. None if the series has fewer than `FEWEST` points, or the trend
    is not significant or smaller than `LEAST`.
    """
    count = len(logs) // _BLOCK
    if count < _FEWEST_BLOCKS:
        return None
    means = winsorize(np.asarray(logs, dtype=float))[-count * _BLOCK :].reshape(count, _BLOCK).mean(axis=1)
    order = np.arange(count, dtype=float)
    p = kendall_p(order, means)
    total = float(np.expm1(np.median(slopes_of(order, means)) * (count - 1)))
    return Trend(total=total, p=p) if p <= SURE and abs(total) >= LEAST else None
