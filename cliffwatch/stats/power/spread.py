"""The spread of a metric, as its rank test has it."""

import math
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import sorted_median

_NORMAL = NormalDist()


def rank_spread(base: Values, head: Values, shift: float) -> Values:
    """The standard deviation of the normal noise in which a rank test detects `shift` as well as in this, (…,
    n), (…, m).

    A rank test's power rests on how often two boots of one kernel differ by less than the shift (Noether,
    Journal of the American Statistical Association 82, 1987), so that rare slow boots cost it little.
    Where all pairs or none do, it is the standard deviation.
    """
    arms = (arm - sorted_median(np.sort(arm, axis=-1))[..., None] for arm in (base, head))
    rest = np.concatenate(list(arms), axis=-1)
    return _by_near_boots(rest, shift, shift, pooled_spread(base, head))


def paired_spread(base: Values, head: Values, shift: float) -> Values:
    """The spread of two arms in which a rank test detects `shift` as well as the signed ranks of these pairs
    do, (…, n) each.

    Differences of independent boots spread by the root of two as much as the boots.
    """
    within = head - base
    plain = (
        within.std(axis=-1, ddof=1) / math.sqrt(2) if within.shape[-1] > 1 else np.zeros(within.shape[:-1])
    )
    return _by_near_boots(within, math.sqrt(2) * shift, shift, plain)


def _by_near_boots(boots: Values, reach: float, shift: float, plain: Values) -> Values:
    """From the share of pairs that lie nearer to each other than `reach`; `plain` where all
    pairs or none do.
    """
    ordered = np.sort(boots, axis=-1)
    spread = shift / (
        math.sqrt(2) * _normal_distances(math.comb(ordered.shape[-1], 2))[_near(ordered, reach)]
    )
    return np.where(np.isfinite(spread), spread, plain)


def _near(ordered: Values, reach: float) -> NDArray[np.int_]:
    """How many pairs of sorted values lie nearer to each other than `reach`: neighbours first, then those
    further and further apart.
    """
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
    """Below which of so many pairs of standard normal values 0, 1, … all lie, over the root of two; unknown
    for none and for all.
    """
    shares = np.arange(1, pairs) / max(1, pairs)
    return np.array([np.nan, *(_NORMAL.inv_cdf((1 + share) / 2) for share in shares), np.nan])[: pairs + 1]


def pooled_spread(base: Values, head: Values) -> Values:
    """Standard deviation of logs within arms, both arms pooled; shapes (…, n) and (…, m). Zero for one boot
    each.
    """
    n, m = base.shape[-1], head.shape[-1]
    if n + m <= 2:
        return np.zeros(base.shape[:-1])
    squares = ((base - base.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    squares += ((head - head.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return np.asarray(np.sqrt(squares / (n + m - 2)))
