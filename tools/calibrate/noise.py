"""Boots of a kernel that does not exist: made-up noise of the kinds that real hosts show, from a seed.

A family is (metrics, boots) of logs. `spread` is the standard deviation of the Gaussian kind; the others
are scaled so that their robust spread (median absolute deviation) is about the same, with what makes them
hard on top.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Shape = Literal["gauss", "lognormal", "bimodal", "spikes"]
Kind = Literal["independent", "correlated", "mixed"]
SHAPES: tuple[Shape, ...] = ("gauss", "lognormal", "bimodal", "spikes")
KINDS: tuple[Kind, ...] = ("independent", "correlated", "mixed")

_SHARED = 0.5
"""The share of variance that all metrics of a boot have in common in a correlated family."""


def gauss(generator: np.random.Generator, shape: tuple[int, ...], spread: float) -> Values:
    return generator.normal(0.0, spread, size=shape)


def lognormal(generator: np.random.Generator, shape: tuple[int, ...], spread: float) -> Values:
    """A long tail to the slow side, as of interrupts: log-normal of shape 0.8."""
    return np.log1p(spread * (np.exp(generator.normal(0.0, 0.8, size=shape)) - 1))


def bimodal(generator: np.random.Generator, shape: tuple[int, ...], spread: float) -> Values:
    """One boot in four is slower by two spreads, as with an unlucky placement of pages."""
    return generator.normal(0.0, spread / 2, size=shape) + 2 * spread * (generator.random(shape) < 0.25)


def spikes(generator: np.random.Generator, shape: tuple[int, ...], spread: float) -> Values:
    """One boot in twenty is slower by ten to thirty per cent."""
    hit = generator.random(shape) < 0.05
    return generator.normal(0.0, spread, size=shape) + hit * np.log1p(generator.uniform(0.1, 0.3, size=shape))


NOISES: dict[Shape, Callable[[np.random.Generator, tuple[int, ...], float], Values]] = {
    "gauss": gauss,
    "lognormal": lognormal,
    "bimodal": bimodal,
    "spikes": spikes,
}


def family(generator: np.random.Generator, kind: Kind, metrics: int, boots: int, spread: float) -> Values:
    """Boots of a whole family, (metrics, boots).

    `independent` and `correlated` are Gaussian; in the latter half of the variance belongs to the boot and
    is shared by all metrics; `mixed` shares a fifth and has metrics of all four shapes.
    """
    if kind == "independent":
        return gauss(generator, (metrics, boots), spread)
    share = _SHARED if kind == "correlated" else 0.2
    common = generator.normal(0.0, spread * np.sqrt(share), size=(1, boots))
    if kind == "correlated":
        return common + gauss(generator, (metrics, boots), spread * np.sqrt(1 - share))
    own = [
        NOISES[SHAPES[metric % len(SHAPES)]](generator, (boots,), spread * np.sqrt(1 - share))
        for metric in range(metrics)
    ]
    return common + np.stack(own)


def drifting(values: Values, total: float, positions: Values) -> Values:
    """The values of boots at `positions` (0 .. 1 of the run) of a host that grows slower by
    `total`, evenly.
    """
    return values + total * positions
