"""The detectable change, and the boots needed, by the tests that a published change must pass.

These are a rank test and the trimmed means of `cliffwatch.stats.shape_guard`. Their statistics are taken as
normal, with the efficiencies and correlations of their influence functions in normal noise (Huber, Robust
Statistics, 1981, chapter 3). A plan of two stages detects a change that passes its screen and then any of its
looks.

Shifts and spreads are of logs. `tools/calibrate` compares the computed power with simulations.
"""

import math
from collections.abc import Callable
from functools import cache, lru_cache
from statistics import NormalDist
from typing import NamedTuple

from cliffwatch.stats.power.detection import (
    EFFICIENCY,
    POWER,
    detection_power,
    least_boots,
    noncentral_tail,
    t_quantile,
)
from cliffwatch.stats.shape_guard import (
    SPREADS_DIFFER,
    WHERE_SPREADS_DIFFER,
    evidence_share,
    sizes_differ,
    trimmed_off,
)
from cliffwatch.stats.stages import Stages

_MOST_BOOTS = 100_000
_NINE_IN_TEN = 1.645
"""Normal quantile of a 90 % interval."""
_SPREAD_ERROR = 0.9
"""Standard deviation of the log of a rank test's spread, times the root of its degrees of freedom.

For normal noise; that of a standard deviation is 0.7. Larger for noise with a long tail.
"""

_TRIMMED_EFFICIENCY = 0.8736
"""Efficiency of the mean of the middle three fifths, relative to the mean."""
_ROOT_OF_EFFICIENCY, _ROOT_2 = math.sqrt(_TRIMMED_EFFICIENCY), math.sqrt(2.0)
_TRIMMED_CORRELATION = 0.9863
"""Correlation of that trimmed mean with a mean and with ranks."""

_OWN_ERROR = 0.6
"""Part of the error of the trimmed means' standard error that ranks do not share.

Fitted to simulated normal noise, 21 to 60 boots.
"""
_NORMAL = NormalDist()
_MOST_SPREADS = 1e6
_STEPS = 40
_COUNTED = 200
"""Boots up to which orders are counted to see if ranks reach an error. More boots reach any error in use."""

_CLOSE_ENOUGH = 1e-5

_Term = tuple[float, float, float]
"""A weight of the integral, the sine of its angle, and twice the square of the cosine."""

NODES = (
    (0.013046735741414128, 0.03333567215434407),
    (0.06746831665550773, 0.0747256745752902),
    (0.16029521585048778, 0.109543181257991),
    (0.2833023029353764, 0.13463335965499826),
    (0.4255628305091844, 0.1477621123573764),
    (0.5744371694908156, 0.1477621123573764),
    (0.7166976970646236, 0.13463335965499826),
    (0.8397047841495122, 0.109543181257991),
    (0.9325316833444923, 0.0747256745752902),
    (0.9869532642585859, 0.03333567215434407),
)
"""Gauss-Legendre's ten points and weights, from 0 to 1.

numpy's module for them takes longer to load than most comparisons take.
"""


def detectable(spread: float, n: int, m: int, alpha: float, power: float = POWER) -> float | None:
    """The smallest shift that n and m boots in one stage detect with `power`.

    `alpha` is a row's two-sided error. None with too few boots.
    """
    if n + m < 4:
        return None
    units = _smallest(n, m, alpha, 2, power)
    return None if units is None else units * spread


def detectable_in_pairs(spread: float, pairs: int, alpha: float, power: float = POWER) -> float | None:
    """The smallest shift that a paired plan of one stage detects. `spread` is that of `paired_spread`."""
    units = _smallest_in_pairs(pairs, alpha, power)
    return None if units is None else units * spread


def detectable_staged(spread: float, stages: Stages, candidates: int, power: float = POWER) -> float | None:
    """The smallest shift that a plan of two stages detects with `power`, among `candidates` candidates."""
    last = stages.looks[-1]
    units = _smallest_staged(
        stages.screen, stages.screen_alpha, last.boots, last.alpha / max(1, candidates), power
    )
    return None if units is None else units * spread


@lru_cache(maxsize=1 << 14)
def boots_needed(shift: float, spread: float, alpha: float, power: float = POWER) -> int:
    """Boots per arm, in one stage, that detect a shift with `power`; at most 100,000."""
    if shift <= 0:
        return _MOST_BOOTS
    low, high = 1, _MOST_BOOTS
    boots = max(2, least_boots(alpha))
    while high - low > 1:
        units = _smallest(boots, boots, alpha, 2, power)
        excess = None if units is None else units * spread / shift
        if excess is not None and excess <= 1:
            high = boots
        else:
            low = boots
        # What is detectable falls with the root of the boots: a step or two, then one more to either side.
        wider = 2.0 if excess is None else min(_MOST_BOOTS, excess)
        boots = round(boots * wider**2)
        boots = min(max(boots, low + 1), high - 1)
    return high


@lru_cache(maxsize=1 << 14)
def needs_range(needs: int, n: int, m: int) -> tuple[int, int]:
    """Range of the boots needed, given the uncertainty of a spread from n and m boots.

    Holds the true number nine times in ten for normal noise, less often with a long tail (docs/method.md).
    """
    factor = math.exp(2 * _NINE_IN_TEN * _SPREAD_ERROR / math.sqrt(max(1, n + m - 2)))
    return max(2, round(needs / factor)), min(_MOST_BOOTS, round(needs * factor))


def power_function(n: int, m: int, alpha: float, sides: int) -> Callable[[float], float]:
    """Returns the probability that a shift (in spreads) passes the rank test and the tests of the centre.

    Terms that do not depend on the shift are computed once.
    """
    error, freedom = 2 * alpha / sides, _boots_left(n) + _boots_left(m) - 2
    scale, apart = math.sqrt(n * m / (n + m)), math.sqrt(1 / n + 1 / m)
    shares = (evidence_share(n, m), WHERE_SPREADS_DIFFER)
    plain, strict = (_trimmed_test(freedom, error**share) if freedom >= 1 else None for share in shares)
    fewest = min(n, m)
    unequal = (t_quantile(error, fewest - 1), fewest - 1) if sizes_differ(n, m) and fewest > 1 else None

    def powered(units: float) -> float:
        if fewest < 2 and sizes_differ(n, m):
            return 0.0
        ranks, distance = detection_power(units, 1.0, n, m, error), units * scale
        together = (1 - SPREADS_DIFFER) * _with_trimmed(ranks, distance, plain)
        together += SPREADS_DIFFER * _with_trimmed(ranks, distance, strict)
        return together if unequal is None else min(together, noncentral_tail(*unequal, units / apart))

    return powered


class _TrimmedTest(NamedTuple):
    """The test of trimmed means."""

    bound: float
    """Critical value less its bias."""
    spread: float
    """Standard deviation of the statistic."""
    terms: tuple[_Term, ...]
    """Integral terms of its correlation with ranks."""


def _with_trimmed(ranks: float, distance: float, test: _TrimmedTest | None) -> float:
    """The probability that ranks and trimmed means both pass.

    `ranks` is the probability that ranks pass; `distance` is in standard errors of a mean.
    """
    if test is None:
        return 0.0
    trimmed = 0.5 * (1.0 + math.erf((distance * _ROOT_OF_EFFICIENCY - test.bound) / test.spread / _ROOT_2))
    return _joint_probability(ranks, trimmed, test.terms)


@cache
def _trimmed_test(freedom: int, alpha: float) -> _TrimmedTest:
    """The two-sided test, by the normal approximation of `noncentral_tail`."""
    critical = t_quantile(alpha, freedom)
    return _TrimmedTest(
        bound=critical * (1 - 1 / (4 * freedom)),
        spread=math.sqrt(1 + critical**2 / (2 * freedom)),
        terms=_terms(_TRIMMED_CORRELATION / math.sqrt(1 + _OWN_ERROR * critical**2 / (2 * freedom))),
    )


def _boots_left(boots: int) -> int:
    return boots - 2 * trimmed_off(boots)


@cache
def _smallest_in_pairs(pairs: int, alpha: float, power: float) -> float | None:
    """In spreads, by the signed ranks and the trimmed mean that must agree. None with too few pairs."""
    if pairs < 2 or 2.0**-pairs > alpha / 2:
        return None

    freedom = _boots_left(pairs) - 1
    test = _trimmed_test(freedom, alpha ** evidence_share(pairs, pairs)) if freedom >= 1 else None

    def passed(units: float) -> float:
        distance = units * math.sqrt(pairs / 2)
        ranks = noncentral_tail(t_quantile(alpha, pairs - 1), pairs - 1, distance * math.sqrt(EFFICIENCY))
        return _with_trimmed(ranks, distance, test)

    return _least(passed, power)


@cache
def _smallest(n: int, m: int, alpha: float, sides: int, power: float) -> float | None:
    """In spreads; None if no shift passes."""
    if min(n, m) < 2 or not _can_reach(n, m, alpha / sides):
        return None
    return _least(power_function(n, m, alpha, sides), power)


@cache
def _smallest_staged(
    screen: int, screen_alpha: float, boots: int, alpha: float, power: float
) -> float | None:
    """In spreads. The screen uses a t-test beside the ranks, so it has full efficiency."""
    if not _can_reach(boots, boots, alpha):
        return None

    published = power_function(boots, boots, alpha, 1)

    def passed(units: float) -> float:
        noncentral = units * math.sqrt(screen / 2)
        freedom = 2 * screen - 2
        return noncentral_tail(t_quantile(screen_alpha, freedom), freedom, noncentral) * published(units)

    return _least(passed, power)


def _can_reach(n: int, m: int, error: float) -> bool:
    """True if a rank test of this many boots can reach a one-sided error."""
    return n + m > _COUNTED or 1 / math.comb(n + m, n) <= error


def _least(powered: Callable[[float], float], power: float) -> float | None:
    """The point where a rising probability reaches `power`, by regula falsi (Illinois).

    None if it stays below up to a million spreads.
    """
    low, high = 0.0, 1.0
    below, above = -power, powered(high) - power
    while above < 0:
        low, below, high = high, above, 2 * high
        if high > _MOST_SPREADS:
            return None
        above = powered(high) - power
    last = 0.0
    for _ in range(_STEPS):
        between = high - above * (high - low) / (above - below)
        value = powered(between) - power
        if abs(value) < _CLOSE_ENOUGH:
            return between
        stuck = value * last > 0  # the other end stays for the second time
        if value < 0:
            low, below, above = between, value, above / 2 if stuck else above
        else:
            high, above, below = between, value, below / 2 if stuck else below
        last = value
    return high


def _joint_probability(first: float, second: float, terms: tuple[_Term, ...]) -> float:
    """The probability that two normal variables both lie below their bounds.

    `first` and `second` are the probabilities for each alone; `terms` are those of the correlation.
    """
    if not (0 < first < 1 and 0 < second < 1):
        return min(first, second)
    ours, theirs = _NORMAL.inv_cdf(first), _NORMAL.inv_cdf(second)
    squares, product = ours**2 + theirs**2, 2 * ours * theirs
    together = math.fsum(
        [weight * math.exp(-(squares - product * sine) / cosine) for weight, sine, cosine in terms]
    )
    return first * second + together / (2 * math.pi)


def _terms(correlation: float) -> tuple[_Term, ...]:
    """Terms of the integral of Drezner and Wesolowsky at the angle whose sine is the correlation.

    Journal of Statistical Computation and Simulation 35, 1990. The integrand is smooth there.
    """
    widest = math.asin(correlation)
    return tuple(
        (widest * weight, math.sin(widest * point), 2 * math.cos(widest * point) ** 2)
        for point, weight in NODES
    )
