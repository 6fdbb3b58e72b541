"""Null distributions of rank statistics.

Counted exactly up to `EXACT_PAIRS` pairs; beyond, the normal approximation with continuity correction. The
tables assume no ties; the caller handles them.

Sources: Mann and Whitney, Annals of Mathematical Statistics 18, 1947; Wilcoxon, Biometrics Bulletin 1, 1945.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

EXACT_PAIRS = 3000
"""Largest null distribution that is counted: n*m for two samples, n*(n+1)/2 for pairs."""


@cache
def rank_sum_tail(n: int, m: int) -> Values:
    """P(U >= u) for u = 0 .. n*m. U counts the pairs in which the second sample is greater."""
    if n * m > EXACT_PAIRS:
        return _normal_tail(n * m, n * m * (n + m + 1) / 12)
    return _tail(_rank_sum_counts(n, m))


@cache
def signed_rank_tail(n: int) -> Values:
    """P(W >= w) for w = 0 .. n*(n+1)/2. W is the sum of ranks of the positive differences."""
    total = n * (n + 1) // 2
    if total > EXACT_PAIRS:
        return _normal_tail(total, n * (n + 1) * (2 * n + 1) / 24)
    counts = [1] + [0] * total
    for rank in range(1, n + 1):
        for value in range(total, rank - 1, -1):
            counts[value] += counts[value - rank]
    return _tail(counts)


def critical_rank(tail: Values, alpha: float) -> int | None:
    """The largest k with P(statistic <= k) <= alpha / 2; None if even the smallest value is too likely.

    The k-th smallest and k-th largest difference (from 0) then bound an interval of level 1 - alpha.
    """
    below = np.flatnonzero(tail[::-1] <= alpha / 2)
    return int(below[-1]) if len(below) else None


def _tail(counts: list[int]) -> Values:
    total = sum(counts)
    reached, tail = 0, []
    for count in reversed(counts):
        reached += count
        tail.append(reached / total)
    return np.array(tail[::-1])


def _normal_tail(largest: int, variance: float) -> Values:
    from scipy import special  # noqa: PLC0415 - half a second to load, for large samples alone

    values = np.arange(largest + 1)
    return np.asarray(special.ndtr((largest / 2 - values + 0.5) / math.sqrt(variance)), dtype=float)


def _rank_sum_counts(n: int, m: int) -> list[int]:
    """The number of orders of n + m values that give each U: the coefficients of the Gaussian binomial."""
    coefficients = [1]
    for i in range(1, n + 1):
        coefficients = _over_one_minus(_times_one_minus(coefficients, m + i), i)
    return coefficients[: n * m + 1]


def _times_one_minus(coefficients: list[int], power: int) -> list[int]:
    result = coefficients + [0] * power
    for index, value in enumerate(coefficients):
        result[index + power] -= value
    return result


def _over_one_minus(coefficients: list[int], power: int) -> list[int]:
    result = list(coefficients)
    for index in range(power, len(result)):
        result[index] += result[index - power]
    return result
