"""Drift within a run: a host that becomes slower while it measures.

Kendall's test of each arm's boots against their order, the scores of both arms added (Mann, Econometrica 13,
1945; seasons as in Hirsch, Slack and Smith, Water Resources Research 18, 1982), with the slope of Theil and
Sen. Interleaved arms share a drift, so it widens their intervals. Arms measured one after the other do not
share it, so it biases their difference.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import two_samples

SURE = 0.001
"""Largest p-value that rejects interleaving."""
_FEWEST = 8
_PAIRS_AT_ONCE = 1 << 20
"""Pairs of values over all rows of one batch: some tens of MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A drift of a row."""

    total: float
    """From first to last boot, as a shift of logs."""
    p: float
    """p-value of no drift."""


def drift(values: Values, order: Values, arms: Values) -> Drift | None:
    """The drift of one row. None for fewer than eight boots, or if all are equal.

    `values` are logs of boots at positions `order`, of arms 0 and 1.
    """
    return drifts_of(values[None, :], order, arms)[0]


def drifts_of(rows: Values, order: Values, arms: Values, *, p_at_most: float = 1.0) -> list[Drift | None]:
    """The drift of each row, (rows, boots), all measured in the same boots.

    None also if p exceeds `p_at_most`.
    """
    if rows.shape[-1] < _FEWEST or np.ptp(order) == 0:
        return [None] * len(rows)
    at_once = max(1, _PAIRS_AT_ONCE // rows.shape[-1] ** 2)
    return [
        each
        for first in range(0, len(rows), at_once)
        for each in _drifts(rows[first : first + at_once], order, arms, p_at_most)
    ]


def _drifts(rows: Values, order: Values, arms: Values, p_at_most: float) -> list[Drift | None]:
    places = [np.flatnonzero(arms == arm) for arm in (0, 1)]
    parts = [(order[place], rows[:, place]) for place in places if len(place)]
    moving = np.any([np.ptp(part, axis=-1) > 0 for _, part in parts], axis=0)
    scores = np.atleast_1d(sum(_scores(positions, part) for positions, part in parts))
    variance = sum(_variance(len(positions)) for positions, _ in parts)
    drifts: list[Drift | None] = [None] * len(rows)
    p_values = [_p(float(score), variance) for score in scores.tolist()]
    asked = [row for row, moves in enumerate(moving.tolist()) if moves and p_values[row] <= p_at_most]
    slopes = np.concatenate([slopes_of(positions, part[asked]) for positions, part in parts], axis=-1)
    totals = np.median(slopes, axis=-1) * float(np.ptp(order)) if slopes.shape[-1] else np.zeros(len(asked))
    for row, total in zip(asked, totals.tolist(), strict=True):
        drifts[row] = Drift(total=total, p=p_values[row])
    return drifts


def is_interleaved(order: Values, arms: Values) -> bool:
    """True if the arms were interleaved.

    A rank test of their positions: a plan in blocks passes, one arm after the other fails.
    """
    first, second = order[arms == 0], order[arms == 1]
    if len(first) < 3 or len(second) < 3:
        return True
    return float(two_samples(first, second).p()) > SURE


def kendall_p(order: Values, values: Values) -> float:
    """The p-value of Kendall's test by its normal approximation, accurate from eight values."""
    return _p(float(_scores(order, values)), _variance(len(values)))


def slopes_of(order: Values, values: Values) -> Values:
    """The slopes between all pairs of values, (…, n), at different positions.

    Their median is the estimate of Theil and Sen.
    """
    first, second = _pairs(len(order))
    apart = order[second] != order[first]
    first, second = first[apart], second[apart]
    return np.asarray((values[..., second] - values[..., first]) / (order[second] - order[first]))


@lru_cache(maxsize=64)
def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(count, 1)


def _scores(order: Values, values: Values) -> NDArray[np.int_]:
    """Pairs that rise minus pairs that fall, of values (…, n), in order of rising distance."""
    sorting = np.argsort(order, kind="stable")
    order, columns = order[sorting], np.ascontiguousarray(np.moveaxis(values[..., sorting], -1, 0))
    scores = np.zeros(columns.shape[1:], dtype=int)
    for apart in range(1, len(columns)):
        later = order[apart:] != order[:-apart]
        steps = columns[apart:][later] - columns[:-apart][later]
        scores += np.count_nonzero(steps > 0, axis=0) - np.count_nonzero(steps < 0, axis=0)
    return scores


def _p(score: float, variance: float) -> float:
    return math.erfc(abs(score) / math.sqrt(2 * variance))


def _variance(count: int) -> float:
    return count * (count - 1) * (2 * count + 5) / 18
