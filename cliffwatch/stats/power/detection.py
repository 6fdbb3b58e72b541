"""What is detectable, and how many boots it takes to detect less.

Power of the t-test, with the rank test's asymptotic relative efficiency for normal noise of 3/pi (Lehmann, Nonparametrics, 1975,
section 2.4). The t quantile is Hill's (Communications of the ACM 13, 1970, algorithm 396), the noncentral t Johnson and Welch's
normal approximation (Biometrika 31, 1940): within half a per cent of power, and a report that needs nothing else starts without
loading scipy. Shifts and spreads are of logs.
"""

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import sorted_median

EFFICIENCY = 3 / math.pi
POWER = 0.8
_MOST_BOOTS = 100_000
_NORMAL = NormalDist()


def detection_power(shift: float, spread: float, n: int, m: int, alpha: float) -> float:
    """The probability that a two-sided rank test of n and m boots at `alpha` detects the shift."""
    freedom = n + m - 2
    if freedom < 1 or spread <= 0:
        return 1.0 if spread <= 0 and shift else alpha
    noncentral = abs(shift) / (spread * math.sqrt((1 / n + 1 / m) / EFFICIENCY))
    return _noncentral_tail(t_quantile(alpha, freedom), freedom, noncentral)


def detectable(spread: float, n: int, m: int, alpha: float, power: float = POWER) -> float | None:
    """The minimum detectable effect at `power`; None where no shift is detectable, for want of boots."""
    if n + m < 4 or 2 / math.comb(n + m, n) > alpha:
        return None
    freedom = n + m - 2
    noncentral = _noncentral_for(t_quantile(alpha, freedom), freedom, power)
    return noncentral * spread * math.sqrt((1 / n + 1 / m) / EFFICIENCY)


def _noncentral_tail(critical: float, freedom: int, noncentral: float) -> float:
    """P(T > critical) of the noncentral t."""
    spread = math.sqrt(1 + critical**2 / (2 * freedom))
    return _NORMAL.cdf((noncentral - critical * (1 - 1 / (4 * freedom))) / spread)


def _noncentral_for(critical: float, freedom: int, power: float) -> float:
    """The noncentrality at which T exceeds `critical` with `power`."""
    return critical * (1 - 1 / (4 * freedom)) + _NORMAL.inv_cdf(power) * math.sqrt(1 + critical**2 / (2 * freedom))


@cache
def t_quantile(alpha: float, freedom: int) -> float:
    """The value that Student's t exceeds in absolute value with probability `alpha`."""
    if freedom == 1:
        return 1 / math.tan(alpha * math.pi / 2)
    if freedom == 2:
        return math.sqrt(2 / (alpha * (2 - alpha)) - 2)
    a = 1 / (freedom - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * freedom
    y = (d * alpha) ** (2 / freedom)
    if y > 0.05 + a:
        x = _NORMAL.inv_cdf(alpha / 2)
        y = x**2
        if freedom < 5:
            c += 0.3 * (freedom - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y**2)
    else:
        y = (
            (1 / (((freedom + 6) / (freedom * y) - 0.089 * d - 0.822) * (freedom + 2) * 3) + 0.5 / (freedom + 4)) * y
            - 1
        ) * (freedom + 1) / (freedom + 2) + 1 / y
    return math.sqrt(freedom * y)


def two_sided_tail(statistic: float, freedom: int) -> float:
    """The probability that Student's t exceeds `statistic` in absolute value (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan2(abs(statistic), math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = total = cosine if odd else 1.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= cosine**2 * (step - 1) / step
        total += term
    inside = 2 / math.pi * (angle + (sine * total if freedom > 1 else 0.0)) if odd else sine * total
    return max(0.0, 1 - inside)


def boots_needed(shift: float, spread: float, alpha: float, power: float = POWER) -> int:
    """Boots an arm with which a shift is detected with `power`; at most 100,000."""
    low, high = 2, 4
    while high < _MOST_BOOTS and detection_power(shift, spread, high, high, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = detection_power(shift, spread, middle, middle, alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return min(max(high, least_boots(alpha)), _MOST_BOOTS)


def least_boots(alpha: float) -> int:
    """Boots an arm below which a rank test can never reach `alpha`."""
    return next(n for n in range(2, 100) if 2 / math.comb(2 * n, n) <= alpha)


def rank_spread(base: Values, head: Values, shift: float) -> Values:
    """The standard deviation of the normal noise in which a rank test detects `shift` as well as in this, (…, n), (…, m).

    A rank test's power rests on how often two boots of one kernel differ by less than the shift (Noether, Journal of the
    American Statistical Association 82, 1987), so that rare slow boots cost it little. Where all pairs or none do, it is the
    standard deviation.
    """
    arms = (arm - sorted_median(np.sort(arm, axis=-1))[..., None] for arm in (base, head))
    rest = np.sort(np.concatenate(list(arms), axis=-1), axis=-1)
    first, second = np.triu_indices(rest.shape[-1], 1)
    near = (rest[..., second] - rest[..., first] < shift).sum(axis=-1)
    shares = np.arange(1, len(first)) / max(1, len(first))
    known = np.array([np.nan, *(_NORMAL.inv_cdf((1 + share) / 2) for share in shares), np.nan])
    spread = shift / (math.sqrt(2) * known[np.minimum(near, len(known) - 1)])
    return np.where(np.isfinite(spread), spread, pooled_spread(base, head))


def pooled_spread(base: Values, head: Values) -> Values:
    """Standard deviation of logs within arms, both arms pooled; shapes (…, n) and (…, m). Zero for one boot each."""
    n, m = base.shape[-1], head.shape[-1]
    if n + m <= 2:
        return np.zeros(base.shape[:-1])
    squares = ((base - base.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    squares += ((head - head.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return np.asarray(np.sqrt(squares / (n + m - 2)))


def detectable_staged(
    spread: float, screen: int, screen_alpha: float, boots: int, alpha: float, power: float = POWER
) -> float | None:
    """The smallest shift that passes a screen and is confirmed at the last look, as the only candidate, with `power`."""
    if spread <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while _both_stages(high, screen, screen_alpha, boots, alpha) < power and high < 1000:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if _both_stages(middle, screen, screen_alpha, boots, alpha) >= power else (middle, high)
        )
    return high * spread


def _both_stages(shift: float, screen: int, screen_alpha: float, boots: int, alpha: float) -> float:
    """In units of the spread; the confirmation is one-sided, hence twice its error."""
    screened = detection_power(shift, 1.0, screen, screen, screen_alpha)
    return screened * detection_power(shift, 1.0, boots, boots, 2 * alpha)
