"""A rank test's rejection, held against tests of the centre where ranks could mean something else than a
shift.

Ranks reject equal centres too where one arm has a tail or, with unequal numbers of boots, another spread.
So a test of the centre has to agree: either trimmed means (Yuen, Biometrika 61, 1974; pairs: Tukey and
McLaughlin, Sankhya A 25, 1963), which a tail moves less than ranks, with a share of the evidence that
rises with the number of boots, and with more than the ranks' where the arms' spreads differ (Brown and
Forsythe, Journal of the American Statistical Association 69, 1974); or the median test (Mood, Introduction
to the Theory of Statistics, 1950, chapter 16, by the hypergeometric distribution; pairs: the sign test) at
the same error, which boots in two modes need; both where spreads surely differ. Where the numbers of boots
differ by more than a fifth, Student's statistic of unequal variances with the degrees of freedom of the
smaller arm (Hsu, Statistical Research Memoirs 2, 1938) has to agree too, which errs on the safe side.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.power.detection import t_quantile, two_sided_tail
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import sorted_median

SPREADS_DIFFER = 0.1
"""The error of the test for differing spreads."""

SPREADS_SURELY_DIFFER = 0.01
"""The error from which on both tests of the centre count: a half that is many times as far out moves even the
trimmed mean.
"""

WHERE_SPREADS_DIFFER = 1.2
"""The share of the ranks' evidence that trimmed means have to bring where spreads differ."""

TRIMMED = 0.2
"""Of the boots of an arm, at either end."""

HALF_SHARE = 16
"""Boots an arm at which trimmed means have to bring half of `FULL_SHARE` of the ranks' evidence, when spreads
do not differ.

The more boots, the surer ranks become of a tail; chosen to have about 2 % at most of families of 200 rows
with anything published where head is exponential, its median unmoved, with 21, 30, 42 and 60 boots
(docs/calibration.md: 0.8 to 2.6 % with other seeds).
"""

FULL_SHARE = 1.05
_STEEPNESS = 5

_ROUNDING = 1e-9
"""Distances that differ by less of themselves are equal: those of two modes can be, but for what subtraction
left over.
"""

UNEQUAL = 0.8
"""Boots of the smaller arm over those of the larger, below which spreads count."""


def guarded(p: float, base: Values, head: Values, *, sides: int, direction: float, in_pairs: bool) -> float:
    """The p-value of a rank test, or the larger one of the tests that have to agree with it. One row's logs,
    (n,) and (m,).

    `sides` is 2 for a two-sided p-value, 1 for one towards `direction`.
    """
    if in_pairs:
        return max(p, _centre_of_pairs(np.sort(head - base), sides, direction))
    base, head = np.sort(base), np.sort(head)  # sums must not depend on the order of the boots
    together = max(p, _centres(base, head, sides, direction))
    if sizes_differ(len(base), len(head)):
        together = max(together, min(1.0, sides * _hsu(base, head, direction)))
    return together


def _centres(base: Values, head: Values, sides: int, direction: float) -> float:
    """Either test, or both where spreads surely differ."""
    differ = spreads_differ(base, head)
    share = WHERE_SPREADS_DIFFER if differ else evidence_share(len(base), len(head))
    trimmed = _enough(_yuen(base, head, direction), share, sides)
    medians = min(1.0, sides * _median_test(base, head, direction))
    if differ and spreads_differ(base, head, SPREADS_SURELY_DIFFER):
        return max(trimmed, medians)
    return min(trimmed, medians)


def _centre_of_pairs(within: Values, sides: int, direction: float) -> float:
    trimmed = _towards(direction, trimmed_mean(within), *_error_of_trimmed(within))
    signs = min(1.0, sides * _sign(within, direction))
    return min(signs, _enough(trimmed, evidence_share(len(within), len(within)), sides))


@cache
def evidence_share(n: int, m: int) -> float:
    """Of the ranks' evidence, the logarithm of their error, what trimmed means of n and m boots of equal
    spread have to bring.
    """
    boots = 2 * n * m / (n + m)
    return float(FULL_SHARE * boots**_STEEPNESS / (boots**_STEEPNESS + HALF_SHARE**_STEEPNESS))


def _enough(trimmed: float, share: float, sides: int) -> float:
    """The p-value, of `sides`, of which the one-sided one of the trimmed means has this share of the
    evidence.
    """
    return sides / 2 * float(min(1.0, 2 * trimmed) ** (1 / share))


def sizes_differ(n: int, m: int) -> bool:
    """Whether the numbers of boots differ so much that spreads count."""
    return min(n, m) < UNEQUAL * max(n, m)


def spreads_differ(base: Values, head: Values, error: float = SPREADS_DIFFER) -> bool:
    """Whether mean distances from the median differ by Student's test."""
    freedom = len(base) + len(head) - 2
    return freedom > 0 and abs(float(spread_statistics(base, head))) > t_quantile(error, freedom)


def spread_statistics(base: Values, head: Values) -> Values:
    """Student's statistic of the distances from each arm's median, (…, n) and (…, m); positive where head is
    wider, 0 of too few boots.
    """
    n, m = base.shape[-1], head.shape[-1]
    if min(n, m) < 2:
        return np.zeros(base.shape[:-1])
    ours, theirs = distances(base), distances(head)
    squares = (n * ours.var(axis=-1) + m * theirs.var(axis=-1)) / (n + m - 2)
    apart = theirs.mean(axis=-1) - ours.mean(axis=-1)
    rounding = _ROUNDING * (theirs.mean(axis=-1) + ours.mean(axis=-1))
    apart = np.where(np.abs(apart) > rounding, apart, 0.0)
    return np.asarray(apart / np.sqrt(np.maximum(squares, np.maximum(rounding**2, 1e-300)) * (1 / n + 1 / m)))


def distances(arm: Values) -> Values:
    """Of each boot from the median of its arm."""
    return np.asarray(np.abs(arm - sorted_median(np.sort(arm, axis=-1))[..., None]))


def _median_test(base: Values, head: Values, direction: float) -> float:
    """One-sided: how likely so many of head's boots lie beyond the median of all, or of base's before it,
    when the medians are equal.

    A boot that is the median says nothing; where several are, as among printed digits, each side is
    counted for itself.
    """
    together = np.concatenate([base, head])
    apart = direction * (together - sorted_median(np.sort(together)))
    of_head = np.arange(len(together)) >= len(base)
    if (apart == 0).sum() == 1:
        apart, of_head = apart[apart != 0], of_head[apart != 0]
    return min(_share(apart[of_head] > 0, apart > 0), _share(apart[~of_head] < 0, apart < 0))


def _share(of_arm: NDArray[np.bool_], of_all: NDArray[np.bool_]) -> float:
    return _hypergeometric_tail(int(of_arm.sum()), len(of_all), int(of_all.sum()), len(of_arm))


def _hypergeometric_tail(least: int, population: int, marked: int, drawn: int) -> float:
    """The probability that of `drawn` at least `least` are marked."""
    ways = sum(
        math.comb(marked, count) * math.comb(population - marked, drawn - count)
        for count in range(least, min(marked, drawn) + 1)
        if drawn - count <= population - marked
    )
    return float(ways / math.comb(population, drawn))


def _sign(differences: Values, direction: float) -> float:
    """One-sided: how likely so many differences have the direction when either is as likely."""
    count = len(differences)
    agreeing = int((differences * direction > 0).sum())
    return float(sum(math.comb(count, each) for each in range(agreeing, count + 1)) / 2**count)


def trimmed_mean(ordered: Values) -> float:
    """Of one arm's sorted logs, or of the differences in pairs."""
    cut = trimmed_off(len(ordered))
    return float(ordered[cut : len(ordered) - cut].mean())


def trimmed_off(boots: int) -> int:
    """Boots that are left out at either end."""
    return int(TRIMMED * boots)


def _error_of_trimmed(ordered: Values) -> tuple[float, float]:
    """The squared standard error of a trimmed mean, by the winsorized variance, and its degrees
    of freedom.
    """
    count, cut = len(ordered), trimmed_off(len(ordered))
    left = count - 2 * cut
    if left < 2:
        return math.inf, 0.0
    winsorized = np.clip(ordered, ordered[cut], ordered[count - 1 - cut])
    return float(winsorized.var(ddof=1)) * (count - 1) / (left * (left - 1)), left - 1.0


def _yuen(base: Values, head: Values, direction: float) -> float:
    """One-sided."""
    (ours, our_freedom), (theirs, their_freedom) = _error_of_trimmed(base), _error_of_trimmed(head)
    error = ours + theirs
    if error in (0.0, math.inf):
        return _towards(direction, trimmed_mean(head) - trimmed_mean(base), error, 0.0)
    freedom = error**2 / (ours**2 / our_freedom + theirs**2 / their_freedom)
    return _towards(direction, trimmed_mean(head) - trimmed_mean(base), error, freedom)


def _towards(direction: float, apart: float, squared_error: float, freedom: float) -> float:
    """Student's one-sided tail, between whole degrees of freedom by the straight line; of no error at all, 0
    or 1.
    """
    if apart * direction <= 0 or squared_error == math.inf:
        return 1.0
    if squared_error == 0:
        return 0.0
    statistic, below = abs(apart) / math.sqrt(squared_error), max(1, int(freedom))
    low, high = (two_sided_tail(statistic, each) / 2 for each in (below, below + 1))
    return low + (high - low) * min(1.0, max(0.0, freedom - below))


def _hsu(base: Values, head: Values, direction: float) -> float:
    """One-sided, with the degrees of freedom of the smaller arm."""
    fewest = min(len(base), len(head))
    if fewest < 2:
        return 1.0
    squared = float(base.var(ddof=1) / len(base) + head.var(ddof=1) / len(head))
    return _towards(direction, float(head.mean() - base.mean()), squared, fewest - 1.0)
