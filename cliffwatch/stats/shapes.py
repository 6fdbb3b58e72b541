"""Boots that fall in two groups: told as such, because a mean between two modes is a value that no boot has.

Two groups by the split of least squares (Fisher, 1958, in one dimension), accepted where they lie far apart for their
width (Ashman, Bird and Zepf, Astronomical Journal 108, 1994: D > 2 separates; `SEPARATION` is stricter, by calibration) and
neither is a few outliers; the share of slow boots is compared by Fisher's exact test.
"""

from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.rank_tables import Values

SEPARATION = 6.0
"""Distance of the groups' means in units of their root mean square width; 1 in 200 normal arms of 21 boots reaches it."""

LEAST_SHARE = 0.1
LEAST_BOOTS = 3
_FEWEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoModes:
    """`fast` and `slow` are the groups' centres on the log scale; shares are of slow boots; `p` is that these are equal."""

    fast: float
    slow: float
    base_share: float
    head_share: float
    p: float


def two_modes(base: Values, head: Values) -> TwoModes | None:
    """Two groups of boots among the logs of both arms, (n,) and (m,); None where one arm or neither shows them.

    The arms are split each for itself, so that a shift between them is not taken for two modes; the one with the clearer
    groups says where the other is divided.
    """
    found = [split for arm in (base, head) if (split := _split(np.sort(arm))) is not None]
    if not found:
        return None
    fast, slow = max(found, key=lambda groups: groups[1] - groups[0])
    border = (fast + slow) / 2
    slow_base, slow_head = int((base > border).sum()), int((head > border).sum())
    from scipy import stats  # noqa: PLC0415 - takes a second to load, and few arms have two modes

    table = [[slow_base, len(base) - slow_base], [slow_head, len(head) - slow_head]]
    return TwoModes(
        fast=fast,
        slow=slow,
        base_share=slow_base / len(base),
        head_share=slow_head / len(head),
        p=float(stats.fisher_exact(np.array(table))[1]),
    )


def _split(ordered: Values) -> tuple[float, float] | None:
    """The centres of two groups of sorted values, if there are two."""
    count = len(ordered)
    least = max(LEAST_BOOTS, int(np.ceil(LEAST_SHARE * count)))
    if count < _FEWEST:
        return None
    best: tuple[float, float, float] | None = None
    for cut in range(least, count - least + 1):
        low, high = ordered[:cut], ordered[cut:]
        width = float(low.var() * len(low) + high.var() * len(high))
        if best is None or width < best[0]:
            best = (width, float(low.mean()), float(high.mean()))
    if best is None:
        return None
    width = np.sqrt(best[0] / (count - 2))
    return (best[1], best[2]) if best[2] - best[1] > SEPARATION * width and best[2] > best[1] else None
