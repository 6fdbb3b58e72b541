"""What could have been seen, and how many boots it takes to see more.

Power of the t-test by the noncentral t distribution (`scipy.special`; library solvers go wrong at the small errors that
families need), with the rank test's asymptotic relative efficiency for normal noise of 3/pi. Source: Lehmann,
Nonparametrics, 1975, section 2.4. Shifts and spreads are of logs.
"""

import math

import numpy as np
from scipy import special

from cliffwatch.stats.rank_tables import Values

EFFICIENCY = 3 / math.pi
POWER = 0.8
_MOST_BOOTS = 100_000


def detection_power(shift: float, spread: float, n: int, m: int, alpha: float) -> float:
    """The probability that a two-sided rank test of n and m boots at `alpha` sees the shift."""
    freedom = n + m - 2
    if freedom < 1 or spread <= 0:
        return 1.0 if spread <= 0 and shift else alpha
    noncentral = abs(shift) / (spread * math.sqrt((1 / n + 1 / m) / EFFICIENCY))
    critical = -float(special.stdtrit(freedom, alpha / 2))
    return 1 - float(special.nctdtr(freedom, noncentral, critical))


def detectable(spread: float, n: int, m: int, alpha: float, power: float = POWER) -> float | None:
    """The smallest shift that is seen with `power`; None where no shift would be, for want of boots."""
    if n + m < 4 or 2 / math.comb(n + m, n) > alpha:
        return None
    freedom = n + m - 2
    noncentral = float(special.nctdtrinc(freedom, 1 - power, -special.stdtrit(freedom, alpha / 2)))
    return noncentral * spread * math.sqrt((1 / n + 1 / m) / EFFICIENCY)


def boots_needed(shift: float, spread: float, alpha: float, power: float = POWER) -> int:
    """Boots an arm with which a shift is seen with `power`; at most 100,000."""
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


def rank_spread(base: Values, head: Values, shift: float) -> float:
    """The standard deviation of the normal noise in which a rank test would see `shift` as well as in this, (n,) and (m,).

    A rank test's power rests on how often two boots of one kernel differ by less than the shift (Noether, Journal of the
    American Statistical Association 82, 1987), so that rare slow boots cost it little. Where all pairs or none do, it is the
    standard deviation.
    """
    rest = np.concatenate([base - np.median(base), head - np.median(head)])
    first, second = np.triu_indices(len(rest), 1)
    near = float(np.mean(np.abs(rest[first] - rest[second]) < shift)) if len(first) else 1.0
    if not 0 < near < 1:
        return float(pooled_spread(base, head))
    return shift / (2 * float(special.erfinv(near)))


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
    seen = detection_power(shift, 1.0, screen, screen, screen_alpha)
    return seen * detection_power(shift, 1.0, boots, boots, 2 * alpha)
