"""Slow drift: a series that grows by a little with every commit and never steps."""

from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.history.winsorize import winsorized
from cliffwatch.stats.noise.drifts import kendall_p, slopes_of
from cliffwatch.stats.rank_tables import Values

SURE = 1e-3
LEAST = 0.02
_BLOCK = 10
_FEWEST_BLOCKS = 8
FEWEST = _BLOCK * _FEWEST_BLOCKS
"""Points without which there is no trend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """`total` is the change over the series as a fraction; `p` that there is no trend."""

    total: float
    p: float


def slow_trend(logs: Values) -> Trend | None:
    """A trend of a series without steps, by Kendall's tau of means of ten points, which autocorrelation
    hardly reaches.

    None where the series is shorter than eighty points, or the trend is not sure or smaller than two per
    cent.
    """
    count = len(logs) // _BLOCK
    if count < _FEWEST_BLOCKS:
        return None
    means = winsorized(np.asarray(logs, dtype=float))[-count * _BLOCK :].reshape(count, _BLOCK).mean(axis=1)
    order = np.arange(count, dtype=float)
    p = kendall_p(order, means)
    total = float(np.expm1(np.median(slopes_of(order, means)) * (count - 1)))
    return Trend(total=total, p=p) if p <= SURE and abs(total) >= LEAST else None
