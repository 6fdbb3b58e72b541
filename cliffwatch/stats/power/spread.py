"""The spread of a metric as its rank test experiences it."""

import math
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import sorted_median

_NORMAL = NormalDist()


def rank_spread(base: Values, head: Values, shift: float) -> Values:
    """The standard deviation of normal noise in which a rank test detects `shift` equally well.

    Arms are (…, n) and (…, m). A rank test's power depends on how often two boots of one kernel differ by
    less than the shift (Noether, Journal of the American Statistical Association 82, 1987), so rare slow
    boots cost it little. If all pairs or none do, this is the plain standard deviation.
    """
    arms = (arm - sorted_median(np.sort(arm, axis=-1))[..., None] for arm in (base, head))
    rest = np.concatenate(list(arms), axis=-1)
    return _by_near_boots(rest, shift, shift, pooled_spread(base, head))


def paired_spread(base: Values, head: Values, shift: float) -> Values:
    """The spread of two arms in which a rank test detects `shift` as well as the signed ranks of these pairs.

    Both arms are (…, n). Differences of independent boots spread by the root of two as much as the boots.
    """
    within = head - base
    plain = (
        within.std(axis=-1, ddof=1) / math.sqrt(2) if within.shape[-1] > 1 else np.zeros(within.shape[:-1])
    )
    return _by_near_boots(within, math.sqrt(2) * shift, shift, plain)


def _by_near_boots(boots: Values, reach: float, shift: float, plain: Values) -> Values:
    """The spread, from the share of pairs of values nearer to each other than `reach`.

    `plain` if all pairs or none are.
    """
    ordered = np.sort(boots, axis=-1)
    spread = shift / (
        math.sqrt(2) * _normal_distances(math.comb(ordered.shape[-1], 2))[_count_near_pairs(ordered, reach)]
    )
    return np.where(np.isfinite(spread), spread, plain)


def _count_near_pairs(ordered: Values, reach: float) -> NDArray[np.int_]:
    """Number of pairs of sorted values nearer than `reach`, counted in order of rising distance."""
    columns = np.ascontiguousarray(np.moveaxis(ordered, -1, 0))
    near = np.zeros(columns.shape[1:], dtype=int)
    for apart in range(1, len(columns)):
        nearer = columns[apart:] - columns[:-apart] < reach
        if not nearer.any():
            break
        near += np.count_nonzero(nearer, axis=0)
    return near


@cache
def _normal_distances(pairs: int) -> Values:
    """Distances below which 0, 1, … of `pairs` pairs of standard normal values lie, over the root of two.

    NaN for none and for all.
    """
    shares = np.arange(1, pairs) / max(1, pairs)
    return np.array([np.nan, *(_NORMAL.inv_cdf((1 + share) / 2) for share in shares), np.nan])[: pairs + 1]


def pooled_spread(base: Values, head: Values) -> Values:
    """Standard deviation of logs within arms, pooled over both; shapes (…, n) and (…, m).

    Zero for one boot each.
    """
    n, m = base.shape[-1], head.shape[-1]
    if n + m <= 2:
        return np.zeros(base.shape[:-1])
    squares = ((base - base.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    squares += ((head - head.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return np.asarray(np.sqrt(squares / (n + m - 2)))
