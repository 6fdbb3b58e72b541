"""A rank test's rejection, held against the medians where ranks could mean something else than a shift.

Ranks reject equal medians too where one arm has a tail or, with unequal numbers of boots, another spread. So a second test has to agree:
the median test (two samples: Mood, Introduction to the Theory of Statistics, 1950, chapter 16, by the hypergeometric distribution; pairs: the sign test),
at the same error where the arms' spreads differ (Brown and Forsythe, Journal of the American Statistical Association 69, 1974), and at a guard of
its own elsewhere; where the numbers of boots differ by more than a fifth, Student's statistic of unequal variances with the degrees of
freedom of the smaller arm (Hsu, Statistical Research Memoirs 2, 1938), which errs on the safe side.
"""

import math

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.power.detection import t_quantile, two_sided_tail
from cliffwatch.stats.rank_tables import Values

SPREADS_DIFFER = 0.1
"""The error of the test for differing spreads: one row in ten with equal spreads pays the median test's power for it."""

GUARD = 0.02
"""Error of the median test where spreads do not differ; loses 2 to 3 in a hundred detections of 3 % at 21 boots."""

UNEQUAL = 0.8
"""Boots of the smaller arm over those of the larger, below which spreads count."""


def guarded(p: float, base: Values, head: Values, *, sides: int, direction: float, in_pairs: bool) -> float:
    """The p-value of a rank test, or the larger one of the tests that have to agree with it. One row's logs, (n,) and (m,).

    `sides` is 2 for a two-sided p-value, 1 for one towards `direction`.
    """
    if in_pairs:
        return max(p, _beyond(p, _sign(head - base, direction), sides, strict=False))
    base, head = np.sort(base), np.sort(head)  # sums must not depend on the order of the boots
    medians = _median_test(base, head, direction)
    together = max(p, _beyond(p, medians, sides, strict=spreads_differ(base, head)))
    if sizes_differ(len(base), len(head)):
        together = max(together, min(1.0, sides * _hsu(base, head, direction)))
    return together


def _beyond(p: float, other: float, sides: int, *, strict: bool) -> float:
    """What the other test, one-sided, adds to `p`: all of its own where it is strict, else nothing up to the guard."""
    both = min(1.0, sides * other)
    return both if strict or both > GUARD else p


def sizes_differ(n: int, m: int) -> bool:
    """Whether the numbers of boots differ so much that spreads count."""
    return min(n, m) < UNEQUAL * max(n, m)


def spreads_differ(base: Values, head: Values) -> bool:
    """Whether mean distances from the median differ by Student's test at `SPREADS_DIFFER`."""
    freedom = len(base) + len(head) - 2
    return freedom > 0 and abs(float(spread_statistics(base, head))) > t_quantile(SPREADS_DIFFER, freedom)


def spread_statistics(base: Values, head: Values) -> Values:
    """Student's statistic of the distances from each arm's median, (…, n) and (…, m); positive where head is wider, 0 of too few boots."""
    n, m = base.shape[-1], head.shape[-1]
    if min(n, m) < 2:
        return np.zeros(base.shape[:-1])
    ours, theirs = distances(base), distances(head)
    squares = (n * ours.var(axis=-1) + m * theirs.var(axis=-1)) / (n + m - 2)
    apart = theirs.mean(axis=-1) - ours.mean(axis=-1)
    return np.asarray(apart / np.sqrt(np.maximum(squares * (1 / n + 1 / m), 1e-300)))


def distances(arm: Values) -> Values:
    """Of each boot from the median of its arm."""
    return np.asarray(np.abs(arm - np.median(arm, axis=-1, keepdims=True)))


def _median_test(base: Values, head: Values, direction: float) -> float:
    """One-sided: how likely so many of head's boots lie beyond the median of all, or of base's before it, when the medians are equal.

    A boot that is the median says nothing; where several are, as among printed digits, each side is counted for itself.
    """
    together = np.concatenate([base, head])
    apart = direction * (together - np.median(together))
    of_head = np.arange(len(together)) >= len(base)
    if (apart == 0).sum() == 1:
        apart, of_head = apart[apart != 0], of_head[apart != 0]
    return min(_share(apart[of_head] > 0, apart > 0), _share(apart[~of_head] < 0, apart < 0))


def _share(of_arm: NDArray[np.bool_], of_all: NDArray[np.bool_]) -> float:
    return hypergeometric_tail(int(of_arm.sum()), len(of_all), int(of_all.sum()), len(of_arm))


def hypergeometric_tail(least: int, population: int, marked: int, drawn: int) -> float:
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


def _hsu(base: Values, head: Values, direction: float) -> float:
    """One-sided."""
    fewest = min(len(base), len(head))
    apart = float(head.mean() - base.mean()) * direction
    error = math.sqrt(base.var(ddof=1) / len(base) + head.var(ddof=1) / len(head)) if fewest > 1 else math.inf
    if apart <= 0 or error == math.inf:
        return 1.0
    return two_sided_tail(apart / error, fewest - 1) / 2 if error else 0.0
