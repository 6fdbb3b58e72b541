"""Boots that fall in two groups: reported as such, because a mean between two modes is a value that no boot
has.

Two groups by the split of least squares (Fisher, 1958, in one dimension), accepted where they lie far
apart for their width (Ashman, Bird and Zepf, Astronomical Journal 108, 1994: D > 2 separates; `SEPARATION`
is stricter, by calibration) and neither is a few outliers; the share of slow boots is compared by Fisher's
exact test.
"""

import math
from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.rank_tables import Values

SEPARATION = 6.0
"""Distance of the groups' means in units of their root mean square width; 1 in 200 normal arms of 21 boots
reaches it.
"""

LEAST_SHARE = 0.1
LEAST_BOOTS = 3
LEAST_APART = 1e-3
"""Modes closer than a thousandth are nobody's concern, and rounding."""

_FEWEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoModes:
    """`fast` and `slow` are the groups' centres on the log scale; shares are of slow boots; `p` is that these
    are equal.
    """

    fast: float
    slow: float
    base_share: float
    head_share: float
    p: float


def two_modes(base: Values, head: Values) -> list[TwoModes | None]:
    """Two groups of boots among the logs of both arms, (rows, n) and (rows, m); None where neither arm shows
    them.

    The arms are split each for itself, so that a shift between them is not taken for two modes; the one
    with the clearer groups says where the other is divided.
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
    """Two-sided: how likely shares at least as uneven are where both arms have one."""
    slow = slow_base + slow_head
    ways = [math.comb(n, k) * math.comb(m, slow - k) for k in range(max(0, slow - m), min(n, slow) + 1)]
    actual = math.comb(n, slow_base) * math.comb(m, slow_head)
    return sum(each for each in ways if each <= actual) / math.comb(n + m, slow)


def _splits(arms: Values) -> tuple[Values, Values]:
    """The centres of the two groups of each row, NaN where there are none: the cut of least squares, over all
    cuts at once.
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
