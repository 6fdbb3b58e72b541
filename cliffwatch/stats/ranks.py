"""Rank comparison of two arms on a log scale: the shift, its interval and its p-values.

Arrays have boots on the last axis. Every function works on all leading axes at once, so one call handles a
family of metrics.

Sources: Mann and Whitney 1947; Hodges and Lehmann 1963; interval by inverting the rank test, Hollander and
Wolfe, Nonparametric Statistical Methods, sections 3.3 (paired) and 4.3 (two samples).
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.rank_tables import Values, critical_rank, rank_sum_tail, signed_rank_tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Pairwise differences of two arms, with the null distribution of their signs."""

    differences: Values
    """Sorted along the last axis.

    Two samples: all head - base (n*m). Pairs: Walsh averages of the differences.
    """
    tail: Values
    """P(statistic >= k) for k = 0, 1, … under no change."""

    @property
    def shift(self) -> Values:
        """The Hodges-Lehmann estimate, a log."""
        return sorted_median(self.differences)

    def interval(self, level: float) -> tuple[Values, Values]:
        """Bounds at which the test at 1 - level just does not reject; infinite with too few boots."""
        k = critical_rank(self.tail, 1 - level)
        if k is None:
            unknown = np.full(self.shift.shape, np.inf, dtype=float)
            return -unknown, unknown
        low: Values = self.differences[..., k]
        high: Values = self.differences[..., -1 - k]
        return low, high

    def p_greater(self) -> Values:
        """One-sided p-value of a positive shift.

        A tie counts for neither side. Breaking ties by chance could only raise the count, so the test stays
        valid.
        """
        return self._at(np.count_nonzero(self.differences > 0, axis=-1))

    def p_less(self) -> Values:
        return self._at(np.count_nonzero(self.differences < 0, axis=-1))

    def p(self) -> Values:
        """Two-sided p-value."""
        return np.asarray(np.minimum(1.0, 2 * np.minimum(self.p_greater(), self.p_less())), dtype=float)

    def _at(self, statistic: NDArray[np.int_] | int) -> Values:
        return np.asarray(self.tail[statistic], dtype=float)


def sorted_median(ordered: Values) -> Values:
    """The median along the last axis of sorted values."""
    middle = ordered.shape[-1] // 2
    upper: Values = ordered[..., middle]
    return upper if ordered.shape[-1] % 2 else (ordered[..., middle - 1] + upper) / 2


def median_rank(count: int, level: float) -> int | None:
    """The k for which the k-th smallest and k-th largest value (from 0) bound the median at `level`.

    `count` is the number of values. None if even the extremes do not reach the level. Source: the sign test
    inverted, Hollander and Wolfe, section 3.6.
    """
    best = None
    below = 0.0
    for k in range(count // 2):
        below += math.comb(count, k) / 2**count
        if 2 * below > 1 - level:
            break
        best = k
    return best


def two_samples(base: Values, head: Values) -> Ranked:
    """Ranks independent arms of logs, shapes (…, n) and (…, m)."""
    differences = (head[..., None, :] - base[..., :, None]).reshape(*base.shape[:-1], -1)
    differences.sort(axis=-1)
    return Ranked(differences=differences, tail=rank_sum_tail(base.shape[-1], head.shape[-1]))


def pairs(base: Values, head: Values) -> Ranked:
    """Ranks arms of logs measured in pairs, both of shape (…, n). The n-th boots of both arms form a pair."""
    within = head - base
    rows, columns = every_pair(within.shape[-1], themselves=True)
    averages = (within[..., rows] + within[..., columns]) / 2
    return Ranked(differences=np.sort(averages, axis=-1), tail=signed_rank_tail(within.shape[-1]))


@cache
def every_pair(n: int, *, themselves: bool = False) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Index pairs of n values, the smaller index first.

    With `themselves`, each index is also paired with itself.
    """
    return np.triu_indices(n, 0 if themselves else 1)
