"""Slow drift: a series that grows by a little with every commit and never steps."""

from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.history.winsorize import clipped
from cliffwatch.stats.noise.drifts import slopes_of, trend
from cliffwatch.stats.rank_tables import Values

SURE = 1e-3
LEAST = 0.02
_BLOCK = 10
_FEWEST_BLOCKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Creep:
    """`total` is the change over the series as a fraction; `p` that there is no trend."""

    total: float
    p: float


def creep(logs: Values) -> Creep | None:
    """A trend of a series without steps, by Kendall's tau of means of ten points, which autocorrelation hardly reaches.

    None where the series is shorter than eighty points, or the trend is not sure or smaller than two per cent.
    """
    count = len(logs) // _BLOCK
    if count < _FEWEST_BLOCKS:
        return None
    means = clipped(np.asarray(logs, dtype=float))[-count * _BLOCK :].reshape(count, _BLOCK).mean(axis=1)
    places = np.arange(count, dtype=float)
    p = trend(places, means)
    total = float(np.expm1(np.median(slopes_of(places, means)) * (count - 1)))
    return Creep(total=total, p=p) if p <= SURE and abs(total) >= LEAST else None
