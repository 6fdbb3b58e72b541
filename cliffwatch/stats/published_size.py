"""How large a published change is: with an interval that allows for its having been published.

What passes a test is, on average, larger in its sample than in truth. The interval is of those sizes whose
shortest acceptance region, among samples that pass, holds the sample (Weinstein, Fithian and Benjamini,
Journal of the American Statistical Association 108, 2013), cut at no change, since the direction is what
was published; the estimate is its middle. The sample's shift is taken as normal with the standard error of
its rank interval, and what would just have passed is where the rank interval of the test's error reaches
no change. Far beyond that, estimate and interval are the plain ones.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from cliffwatch.stats.power.detection import t_quantile
from cliffwatch.stats.ranks import Ranked

LEVEL = 0.95
_FAR = 4.0
"""Standard errors beyond the test's bound from which on the selection changes nothing that is printed."""

_STEPS = 50
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSize:
    """A shift and the bounds of its interval at `LEVEL`, as logs. `measured` is the plain estimate."""

    shift: float
    low: float
    high: float
    measured: float


def published_size(ranked: Ranked, *, direction: float, critical_p: float) -> PublishedSize | None:
    """Of one row whose one-sided p-value is at most `critical_p`; None from too few boots for an interval."""
    sign = 1.0 if direction > 0 else -1.0
    plain = _away(ranked, sign, LEVEL)
    just = _away(ranked, sign, 1 - 2 * critical_p)
    measured = float(ranked.shift)
    if not math.isfinite(plain[0]) or not math.isfinite(just[0]) or plain[1] <= plain[0]:
        return None
    distance = sign * measured
    error = (plain[1] - plain[0]) / 2 / _NORMAL.inv_cdf((1 + LEVEL) / 2) * _unknown_error(ranked)
    bound = max(0.0, distance - just[0])
    if distance - bound >= _FAR * error:
        low, high, shift = plain[0], plain[1], distance
    else:
        low, high = (error * each for each in _given_passed(distance / error, bound / error))
        shift = (low + high) / 2
    low, high = (low, high) if sign > 0 else (-high, -low)
    return PublishedSize(shift=sign * shift, low=low, high=high, measured=measured)


def _unknown_error(ranked: Ranked) -> float:
    """Student's quantile over the normal one, with the freedom of one arm: what passes is among those whose
    own spread came out small.
    """
    boots = math.isqrt(ranked.differences.shape[-1])
    return t_quantile(1 - LEVEL, max(1, boots - 1)) / _NORMAL.inv_cdf((1 + LEVEL) / 2)


def _away(ranked: Ranked, sign: float, level: float) -> tuple[float, float]:
    """The interval, seen in the direction of the change."""
    low, high = (float(each) for each in ranked.interval(level))
    return (low, high) if sign > 0 else (-high, -low)


def _given_passed(sample: float, bound: float) -> tuple[float, float]:
    """Bounds of the size, in standard errors, of a sample that passed because it is no smaller
    than `bound`.
    """
    sample = max(sample, bound)
    low = _turn(lambda size: sample - size <= _acceptance(size, bound)[1], 0.0, sample)
    high = _turn(lambda size: sample - size < _acceptance(size, bound)[0], sample, sample + _FAR)
    return low, high


def _acceptance(size: float, bound: float) -> tuple[float, float]:
    """The shortest region that has `LEVEL` of the samples of this size that pass, as distances
    from the size.
    """
    passing = 0.5 * math.erfc((bound - size) / math.sqrt(2))
    half = _NORMAL.inv_cdf((1 + LEVEL * passing) / 2)
    if -half >= bound - size:
        return -half, half
    return bound - size, -_NORMAL.inv_cdf((1 - LEVEL) * passing)


def _turn(after: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that is false at `low` turns true; `low` where it is true from the start."""
    if after(low):
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if after(middle) else (middle, high)
    return high
