"""Means of ratios."""

import math
from collections.abc import Sequence


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """The geometric mean of positive ratios; None of none."""
    if not ratios:
        return None
    return math.exp(math.fsum(math.log(ratio) for ratio in ratios) / len(ratios))
