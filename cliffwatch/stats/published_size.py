"""The size of a published change, with an interval corrected for selection.

A change that passes a test is, on average, larger in its sample than in truth (the winner's curse). The
interval holds the sizes whose shortest acceptance region, among samples that pass, contains the sample
(Weinstein, Fithian and Benjamini, Journal of the American Statistical Association 108, 2013). It is cut at no
change, because the direction was published too. The estimate is its middle.

The sample's shift is taken as normal, with the standard error of its rank interval. The selection threshold
is where the rank interval at the test's error just touches no change. Far beyond the threshold, estimate and
interval are the plain ones.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from cliffwatch.stats.power.detection import t_quantile
from cliffwatch.stats.ranks import Ranked

LEVEL = 0.95
_FAR = 4.0
"""Standard errors beyond the threshold from which the correction is too small to print."""

_STEPS = 50
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSize:
    """A shift with the bounds of its interval at `LEVEL`, as logs."""

    shift: float
    low: float
    high: float
    measured: float
    """The plain estimate, without the correction."""


def published_size(ranked: Ranked, *, direction: float, critical_p: float) -> PublishedSize | None:
    """The size of one row whose one-sided p-value is at most `critical_p`.

    None with too few boots for an interval.
    """
    sign = 1.0 if direction > 0 else -1.0
    plain = _directed_interval(ranked, sign, LEVEL)
    just = _directed_interval(ranked, sign, 1 - 2 * critical_p)
    measured = float(ranked.shift)
    if not math.isfinite(plain[0]) or not math.isfinite(just[0]) or plain[1] <= plain[0]:
        return None
    distance = sign * measured
    error = (plain[1] - plain[0]) / 2 / _NORMAL.inv_cdf((1 + LEVEL) / 2) * _unknown_error(ranked)
    bound = max(0.0, distance - just[0])
    if distance - bound >= _FAR * error:
        low, high, shift = plain[0], plain[1], distance
    else:
        low, high = (error * each for each in _bounds_given_selection(distance / error, bound / error))
        shift = (low + high) / 2
    low, high = (low, high) if sign > 0 else (-high, -low)
    return PublishedSize(shift=sign * shift, low=low, high=high, measured=measured)


def _unknown_error(ranked: Ranked) -> float:
    """Student's quantile over the normal one, with the degrees of freedom of one arm.

    Fewer degrees than the test's: rows whose own spread came out small pass more often.
    """
    boots = math.isqrt(ranked.differences.shape[-1])
    return t_quantile(1 - LEVEL, max(1, boots - 1)) / _NORMAL.inv_cdf((1 + LEVEL) / 2)


def _directed_interval(ranked: Ranked, sign: float, level: float) -> tuple[float, float]:
    """The interval, mirrored if the change is negative, so that the change points upwards."""
    low, high = (float(each) for each in ranked.interval(level))
    return (low, high) if sign > 0 else (-high, -low)


def _bounds_given_selection(sample: float, bound: float) -> tuple[float, float]:
    """Bounds of the size, in standard errors, given that the sample passed: it is at least `bound`."""
    sample = max(sample, bound)
    low = _turn(lambda size: sample - size <= _acceptance(size, bound)[1], 0.0, sample)
    high = _turn(lambda size: sample - size < _acceptance(size, bound)[0], sample, sample + _FAR)
    return low, high


def _acceptance(size: float, bound: float) -> tuple[float, float]:
    """The shortest region with `LEVEL` of the passing samples of this size, as distances from the size."""
    passing = 0.5 * math.erfc((bound - size) / math.sqrt(2))
    half = _NORMAL.inv_cdf((1 + LEVEL * passing) / 2)
    if -half >= bound - size:
        return -half, half
    return bound - size, -_NORMAL.inv_cdf((1 - LEVEL) * passing)


def _turn(after: Callable[[float], bool], low: float, high: float) -> float:
    """The point where a condition that is false at `low` turns true; `low` if it is true there."""
    if after(low):
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if after(middle) else (middle, high)
    return high
