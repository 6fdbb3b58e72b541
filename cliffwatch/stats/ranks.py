"""Two samples compared by ranks, on a log scale: what changed, within which bounds, and whether that is chance.

Sources: Mann and Whitney 1947; Hodges and Lehmann 1963; interval by inverting the rank test, Hollander and Wolfe,
Nonparametric Statistical Methods, section 4.3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankComparison:
    """`change`, `low` and `high` are fractions of the first sample (0.02 = 2 % more); bounds are None where the samples
    are too few for the level. `p` is two-sided. `mde` is the change that would be found four times in five.
    """

    change: float
    low: float | None
    high: float | None
    p: float
    mde: float | None


def compare_ranks(first: Sequence[float], second: Sequence[float], *, level: float) -> RankComparison:
    """Compares positive values, at least one a side; `level` is that of the interval, such as 0.99."""
    a, b = np.log(np.asarray(first, dtype=float)), np.log(np.asarray(second, dtype=float))
    differences = np.sort(np.subtract.outer(b, a).ravel())
    shift = float(np.median(differences))
    low, high = _bounds(differences, len(a), len(b), level)
    return RankComparison(
        change=math.expm1(shift),
        low=None if low is None else math.expm1(low),
        high=None if high is None else math.expm1(high),
        p=_p_value(a, b),
        mde=_detectable(a, b, level),
    )


def _p_value(a: Values, b: Values) -> float:
    """Exact without ties; with ties the normal approximation with its correction, as the exact one does not hold."""
    if np.ptp(np.concatenate([a, b])) == 0:
        return 1.0
    ties = len(np.unique(np.concatenate([a, b]))) < len(a) + len(b)
    method: Literal["asymptotic", "exact"] = "asymptotic" if ties or len(a) * len(b) > 2500 else "exact"
    return float(stats.mannwhitneyu(a, b, alternative="two-sided", method=method).pvalue)


def _bounds(differences: Values, n: int, m: int, level: float) -> tuple[float | None, float | None]:
    """The k-th smallest and largest difference, where the rank test at 1 - level would just not reject."""
    k = critical_rank(n, m, 1 - level)
    if k is None:
        return None, None
    return float(differences[k]), float(differences[-1 - k])


@cache
def critical_rank(n: int, m: int, alpha: float) -> int | None:
    """The largest k with P(U < k+1) <= alpha / 2 under the null; None where even U = 0 is too likely.

    U is the Mann-Whitney statistic of samples of n and m without ties; its distribution is counted by the recurrence of
    Mann and Whitney.
    """
    total = math.comb(n + m, n)
    cumulative = 0
    k = None
    for u, count in enumerate(_counts(n, m)):
        cumulative += count
        if cumulative / total > alpha / 2:
            break
        k = u
    return k


@cache
def _counts(n: int, m: int) -> tuple[int, ...]:
    """How many orders of n + m values give each U, as coefficients of the Gaussian binomial."""
    coefficients = [1]
    for i in range(1, n + 1):
        coefficients = _times_one_minus(coefficients, m + i)
        coefficients = _over_one_minus(coefficients, i)
    return tuple(coefficients[: n * m + 1])


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


def _detectable(a: Values, b: Values, level: float) -> float | None:
    """Change found with a probability of 0.8: (z_alpha/2 + z_beta) * s * sqrt(1/n + 1/m), widened by 5 %.

    The rank test needs n / 0.955 as many values as the t-test for normal values (its asymptotic relative efficiency is
    3/pi), hence the factor. None where a side has fewer than two values.
    """
    if len(a) < 2 or len(b) < 2:
        return None
    n, m = len(a), len(b)
    spread = math.sqrt(((n - 1) * np.var(a, ddof=1) + (m - 1) * np.var(b, ddof=1)) / (n + m - 2))
    z = float(stats.norm.ppf(1 - (1 - level) / 2) + stats.norm.ppf(0.8))
    return math.expm1(z * spread * math.sqrt(1 / n + 1 / m) * math.sqrt(math.pi / 3))


def boots_needed(a: Sequence[float], b: Sequence[float], *, margin: float, level: float) -> int | None:
    """Boots an arm after which an interval would be narrower than `margin` (a fraction) to each side; None if unknown."""
    if len(a) < 2 or len(b) < 2 or margin <= 0:
        return None
    spread = math.sqrt((np.var(np.log(a), ddof=1) + np.var(np.log(b), ddof=1)) / 2)
    z = float(stats.norm.ppf(1 - (1 - level) / 2) + stats.norm.ppf(0.8))
    return math.ceil(2 * (z * spread / math.log1p(margin)) ** 2 * math.pi / 3)
