"""Splits the noise of a metric into that between boots and that between readings of one boot.

Source: Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013: one-way random-effects
analysis of variance, and repetition where the variance is.
"""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass

_MOST_READINGS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Variance components as standard deviations, fractions of the mean."""

    boot: float
    """Between boots."""
    within: float
    """Between the readings of one boot."""
    correlation: float
    """Intraclass correlation: the boots' share of a reading's variance."""
    worth: int
    """Readings per boot beyond which more add next to nothing.

    With this many, readings add a quarter to the variance of a boot's mean.
    """


def components(readings: Sequence[Sequence[float]]) -> Components | None:
    """Components of one arm, from the readings of each boot. None unless two boots have two readings each."""
    boots = [boot for boot in readings if len(boot) >= 2]
    if len(boots) < 2:
        return None
    # A few dozen numbers: plain sums are faster than arrays, and this is done for every row.
    sizes = [len(boot) for boot in boots]
    means = [math.fsum(boot) / len(boot) for boot in boots]
    count = sum(sizes)
    centre = math.fsum(map(operator.mul, sizes, means)) / count
    if centre == 0:
        return None
    squares = ((reading - mean) ** 2 for boot, mean in zip(boots, means, strict=True) for reading in boot)
    inner = math.fsum(squares) / (count - len(boots))
    outer = math.fsum(size * (mean - centre) ** 2 for size, mean in zip(sizes, means, strict=True)) / (
        len(boots) - 1
    )
    typical = (count - sum(size * size for size in sizes) / count) / (len(boots) - 1)
    between = max(0.0, (outer - inner) / typical)
    total = between + inner
    return Components(
        boot=math.sqrt(between) / abs(centre),
        within=math.sqrt(inner) / abs(centre),
        correlation=between / total if total else 0.0,
        worth=_worth(between, inner),
    )


def _worth(between: float, inner: float) -> int:
    if inner == 0:
        return 1
    if between == 0:
        return _MOST_READINGS
    return min(_MOST_READINGS, max(1, math.ceil(4 * inner / between)))
