"""Guards a rank test's rejection by tests of the centre: the arms may differ in shape only.

A rank test also rejects equal centres if one arm has a tail or, with unequal numbers of boots, another
spread. So a test of the centre has to agree. Either of two suffices:

- Trimmed means (Yuen, Biometrika 61, 1974; pairs: Tukey and McLaughlin, Sankhya A 25, 1963). A tail moves
  them less than ranks. They must bring a share of the ranks' evidence that rises with the number of boots,
  and more than the ranks' where the arms' spreads differ (Brown and Forsythe, Journal of the American
  Statistical Association 69, 1974).
- The median test at the same error (Mood, Introduction to the Theory of Statistics, 1950, chapter 16, by the
  hypergeometric distribution; pairs: the sign test). Boots in two modes need it.

Both must agree where spreads surely differ.

Where the numbers of boots differ by more than a fifth, Student's statistic of unequal variances must agree
too, with the degrees of freedom of the smaller arm (Hsu, Statistical Research Memoirs 2, 1938), which errs on
the safe side.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.power.detection import t_quantile, two_sided_tail
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import sorted_median

SPREADS_DIFFER = 0.1
"""Error of the test for different spreads."""

SPREADS_SURELY_DIFFER = 0.01
"""Error at which both tests of the centre must agree.

If half of one arm lies many times as far out, even the trimmed mean moves.
"""

WHERE_SPREADS_DIFFER = 1.2
"""Share of the ranks' evidence that trimmed means must bring where spreads differ."""

TRIMMED = 0.2
"""Fraction of an arm's boots trimmed at each end."""

HALF_SHARE = 16
"""Boots per arm at which trimmed means must bring half of `FULL_SHARE` of the ranks' evidence.

Holds for equal spreads. Ranks detect a tail more surely the more boots there are. Chosen so that at most
about 2 % of families of 200 rows publish anything where head is exponential with an unmoved median, at 21,
30, 42 and 60 boots (docs/calibration.md: 0.8–2.6 % with other seeds).
"""

FULL_SHARE = 1.05
_STEEPNESS = 5

_ROUNDING = 1e-9
"""Relative difference below which two distances are equal.

Distances of boots in two modes can be equal except for rounding in the subtraction.
"""

UNEQUAL = 0.8
"""Ratio of the smaller arm's boots to the larger arm's, below which different spreads matter."""


def guard_p_value(
    p: float, base: Values, head: Values, *, sides: int, direction: float, in_pairs: bool
) -> float:
    """The p-value of a rank test, raised to that of the tests that have to agree.

    One row's logs, (n,) and (m,).

    `sides` is 2 for a two-sided p-value, 1 for a one-sided p-value towards `direction`.
    """
    if in_pairs:
        return max(p, _centre_of_pairs(np.sort(head - base), sides, direction))
    base, head = np.sort(base), np.sort(head)  # sums must not depend on the order of the boots
    together = max(p, _centres(base, head, sides, direction))
    if sizes_differ(len(base), len(head)):
        together = max(together, min(1.0, sides * _hsu(base, head, direction)))
    return together


def _centres(base: Values, head: Values, sides: int, direction: float) -> float:
    """The smaller p-value of both tests of the centre; the larger where spreads surely differ."""
    differ = spreads_differ(base, head)
    share = WHERE_SPREADS_DIFFER if differ else evidence_share(len(base), len(head))
    trimmed = _p_of_trimmed(_yuen(base, head, direction), share, sides)
    medians = min(1.0, sides * _median_test(base, head, direction))
    if differ and spreads_differ(base, head, SPREADS_SURELY_DIFFER):
        return max(trimmed, medians)
    return min(trimmed, medians)


def _centre_of_pairs(within: Values, sides: int, direction: float) -> float:
    trimmed = _student_tail(direction, trimmed_mean(within), *_error_of_trimmed(within))
    signs = min(1.0, sides * _sign(within, direction))
    return min(signs, _p_of_trimmed(trimmed, evidence_share(len(within), len(within)), sides))


@cache
def evidence_share(n: int, m: int) -> float:
    """Share of the ranks' evidence that trimmed means of n and m boots must bring at equal spreads.

    Evidence is the log of a p-value.
    """
    boots = 2 * n * m / (n + m)
    return float(FULL_SHARE * boots**_STEEPNESS / (boots**_STEEPNESS + HALF_SHARE**_STEEPNESS))


def _p_of_trimmed(trimmed: float, share: float, sides: int) -> float:
    """The p-value for which the trimmed means bring this share of the evidence.

    `trimmed` is their one-sided p-value; the result has `sides` sides.
    """
    return sides / 2 * float(min(1.0, 2 * trimmed) ** (1 / share))


def sizes_differ(n: int, m: int) -> bool:
    """True if the numbers of boots differ so much that different spreads matter."""
    return min(n, m) < UNEQUAL * max(n, m)


def spreads_differ(base: Values, head: Values, error: float = SPREADS_DIFFER) -> bool:
    """True if the mean distances from the median differ by Student's test."""
    freedom = len(base) + len(head) - 2
    return freedom > 0 and abs(float(spread_statistics(base, head))) > t_quantile(error, freedom)


def spread_statistics(base: Values, head: Values) -> Values:
    """Student's statistic of the distances from each arm's median, (…, n) and (…, m).

    Positive if head is wider; 0 if an arm has fewer than two boots.
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
    """Distance of each boot from the median of its arm."""
    return np.asarray(np.abs(arm - sorted_median(np.sort(arm, axis=-1))[..., None]))


def _median_test(base: Values, head: Values, direction: float) -> float:
    """One-sided p-value of the median test.

    It is the probability, with equal medians, that as many of head's boots lie beyond the common median, or
    as many of base's before it. A boot equal to the median is left out. If several are, as with printed
    digits, each side is counted by itself.
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
    """The probability that at least `least` of `drawn` are marked."""
    ways = sum(
        math.comb(marked, count) * math.comb(population - marked, drawn - count)
        for count in range(least, min(marked, drawn) + 1)
        if drawn - count <= population - marked
    )
    return float(ways / math.comb(population, drawn))


def _sign(differences: Values, direction: float) -> float:
    """One-sided p-value of the sign test: the chance that as many differences have the direction."""
    count = len(differences)
    agreeing = int((differences * direction > 0).sum())
    return float(sum(math.comb(count, each) for each in range(agreeing, count + 1)) / 2**count)


def trimmed_mean(ordered: Values) -> float:
    """The trimmed mean of one arm's sorted logs, or of sorted differences of pairs."""
    cut = trimmed_off(len(ordered))
    return float(ordered[cut : len(ordered) - cut].mean())


def trimmed_off(boots: int) -> int:
    """Boots that are trimmed at each end."""
    return int(TRIMMED * boots)


def _error_of_trimmed(ordered: Values) -> tuple[float, float]:
    """The squared standard error of a trimmed mean and its degrees of freedom, by the winsorized variance."""
    count, cut = len(ordered), trimmed_off(len(ordered))
    left = count - 2 * cut
    if left < 2:
        return math.inf, 0.0
    winsorized = np.clip(ordered, ordered[cut], ordered[count - 1 - cut])
    return float(winsorized.var(ddof=1)) * (count - 1) / (left * (left - 1)), left - 1.0


def _yuen(base: Values, head: Values, direction: float) -> float:
    """One-sided p-value of Yuen's test."""
    (ours, our_freedom), (theirs, their_freedom) = _error_of_trimmed(base), _error_of_trimmed(head)
    error = ours + theirs
    if error in (0.0, math.inf):
        return _student_tail(direction, trimmed_mean(head) - trimmed_mean(base), error, 0.0)
    freedom = error**2 / (ours**2 / our_freedom + theirs**2 / their_freedom)
    return _student_tail(direction, trimmed_mean(head) - trimmed_mean(base), error, freedom)


def _student_tail(direction: float, apart: float, squared_error: float, freedom: float) -> float:
    """One-sided tail of Student's t, interpolated between whole degrees of freedom.

    0 or 1 if the error is 0.
    """
    if apart * direction <= 0 or squared_error == math.inf:
        return 1.0
    if squared_error == 0:
        return 0.0
    statistic, below = abs(apart) / math.sqrt(squared_error), max(1, int(freedom))
    low, high = (two_sided_tail(statistic, each) / 2 for each in (below, below + 1))
    return low + (high - low) * min(1.0, max(0.0, freedom - below))


def _hsu(base: Values, head: Values, direction: float) -> float:
    """One-sided p-value of Hsu's test: the degrees of freedom are those of the smaller arm."""
    fewest = min(len(base), len(head))
    if fewest < 2:
        return 1.0
    squared = float(base.var(ddof=1) / len(base) + head.var(ddof=1) / len(head))
    return _student_tail(direction, float(head.mean() - base.mean()), squared, fewest - 1.0)
