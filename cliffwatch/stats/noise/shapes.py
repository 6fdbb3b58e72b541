"""Detects boots that fall into two groups. They are reported, because no boot has the mean between two modes.

The two groups come from the least-squares split in one dimension (Fisher, 1958). They are accepted if they
lie far apart for their width (Ashman, Bird and Zepf, Astronomical Journal 108, 1994: D > 2 separates;
`SEPARATION` is stricter, by calibration) and neither is a few outliers. The shares of slow boots are compared
by Fisher's exact test.
"""

import math
from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.rank_tables import Values

SEPARATION = 6.0
"""Distance of the groups' means over their root mean square width.

1 in 200 normal arms of 21 boots reaches it.
"""

LEAST_SHARE = 0.1
"""Smallest share of an arm's boots in a group."""
LEAST_BOOTS = 3
"""Fewest boots in a group."""
LEAST_APART = 1e-3
"""Smallest log distance of two modes. Closer ones are irrelevant, or rounding."""

_FEWEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoModes:
    """Two groups of boots."""

    fast: float
    """Centre of the fast group, a log."""
    slow: float
    """Centre of the slow group, a log."""
    base_share: float
    """Share of base's boots in the slow group."""
    head_share: float
    """Share of head's boots in the slow group."""
    p: float
    """p-value of equal shares."""


def two_modes(base: Values, head: Values) -> list[TwoModes | None]:
    """Two groups of boots among the logs of both arms, (rows, n) and (rows, m).

    None if neither arm shows them.

    Each arm is split separately, so that a shift between them is not mistaken for two modes. The arm with the
    clearer groups decides where the other is divided.
    """
    ours, theirs = _splits(base), _splits(head)
    apart = np.stack([slow - fast for fast, slow in (ours, theirs)])
    clearer = np.argmax(np.nan_to_num(apart, nan=-1.0), axis=0)
    modes: list[TwoModes | None] = [None] * len(base)
    for row in np.flatnonzero(np.isfinite(apart).any(axis=0)):
        fast, slow = (theirs if clearer[row] else ours)[0][row], (theirs if clearer[row] else ours)[1][row]
        modes[row] = _shares(base[row], head[row], float(fast), float(slow))
    return modes


def _shares(base: Values, head: Values, fast: float, slow: float) -> TwoModes:
    border = (fast + slow) / 2
    slow_base, slow_head = int((base > border).sum()), int((head > border).sum())
    return TwoModes(
        fast=fast,
        slow=slow,
        base_share=slow_base / len(base),
        head_share=slow_head / len(head),
        p=_fisher(slow_base, len(base), slow_head, len(head)),
    )


def _fisher(slow_base: int, n: int, slow_head: int, m: int) -> float:
    """Two-sided p-value of Fisher's exact test for equal shares of slow boots."""
    slow = slow_base + slow_head
    ways = [math.comb(n, k) * math.comb(m, slow - k) for k in range(max(0, slow - m), min(n, slow) + 1)]
    actual = math.comb(n, slow_base) * math.comb(m, slow_head)
    return sum(each for each in ways if each <= actual) / math.comb(n + m, slow)


def _splits(arms: Values) -> tuple[Values, Values]:
    """The centres of the two groups of each row; NaN if there are none.

    Tries all cuts at once by least squares.
    """
    count = arms.shape[-1]
    least = max(LEAST_BOOTS, math.ceil(LEAST_SHARE * count))
    nothing = np.full(arms.shape[:-1], np.nan)
    if count < max(_FEWEST, 2 * least):
        return nothing, nothing
    ordered = np.sort(arms, axis=-1)
    cuts = np.arange(least, count - least + 1)
    sums = np.cumsum(ordered, axis=-1)
    low = sums[..., cuts - 1] / cuts
    high = (sums[..., -1:] - sums[..., cuts - 1]) / (count - cuts)
    squares = (ordered**2).sum(axis=-1, keepdims=True)
    width = np.maximum(squares - cuts * low**2 - (count - cuts) * high**2, 0.0)
    best = np.argmin(width, axis=-1)[..., None]
    fast, slow = (np.take_along_axis(each, best, axis=-1)[..., 0] for each in (low, high))
    spread = np.sqrt(np.take_along_axis(width, best, axis=-1)[..., 0] / (count - 2))
    clear = (slow - fast > SEPARATION * spread) & (slow - fast > LEAST_APART)
    return np.where(clear, fast, np.nan), np.where(clear, slow, np.nan)
