"""Made-up histories of one series: noise of eight kinds, level and steps known, from a seed.

`fresh` boots of a revision have the noise of boots and none of what the host does over weeks: walks, ramps
and slow periods are the host's, and a fresh comparison measures both revisions within hours.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from calibrate.noise import NOISES, SHAPES, Shape, Values

HistoryKind = Literal["gauss", "lognormal", "bimodal", "spikes", "walk", "correlated", "ramp", "slow periods"]
HISTORY_KINDS: tuple[HistoryKind, ...] = get_args(HistoryKind)
FIVE: tuple[HistoryKind, ...] = ("gauss", "lognormal", "bimodal", "spikes", "walk")

STEP_SIZES = (0.01, 0.02, 0.03, 0.05, 0.10)
POINTS = 500
SPREAD = 0.015
_WALK = SPREAD / 20
_CORRELATION = 0.5
_RAMP = (0.05, 0.25)
"""Total change over all points, either way."""

_PERIOD = (40, 200)
_AMPLITUDE = (1.0, 2.0)
"""Of slow periods: points, and spreads from the middle to the top."""


@dataclass(frozen=True, slots=True)
class History:
    """A series of logs as it was measured, the level that the revisions have, and (index, signed size) of its
    steps.
    """

    kind: HistoryKind
    logs: Values
    level: Values
    steps: tuple[tuple[int, float], ...]


def made_up(
    generator: np.random.Generator, kind: HistoryKind, steps: int, *, between: bool = False
) -> History:
    """A history of a kind with so many steps, at least twenty points apart and at least forty from its ends;
    their sizes are any `between` the smallest and the largest, else one of the five.
    """
    points = POINTS
    places = generator.choice(np.arange(2, points // 20 - 2), size=steps, replace=False) * 20
    made = tuple(
        (int(index), float(_size(generator, between) * generator.choice([-1, 1]))) for index in sorted(places)
    )
    level = np.zeros(points)
    for index, size in made:
        level[index:] += np.log1p(size)
    return History(kind, noise_over_time(generator, kind, points) + level, level, made)


def _size(generator: np.random.Generator, between: bool) -> float:
    return float(
        generator.uniform(STEP_SIZES[0], STEP_SIZES[-1]) if between else generator.choice(STEP_SIZES)
    )


def noise_over_time(generator: np.random.Generator, kind: HistoryKind, points: int) -> Values:
    if kind in SHAPES:
        return NOISES[kind](generator, (points,), SPREAD)
    if kind == "correlated":
        return _correlated(generator, points)
    noise = generator.normal(0, SPREAD, points)
    along = np.arange(points)
    if kind == "walk":
        return noise + np.cumsum(generator.normal(0, _WALK, points))
    if kind == "ramp":
        return noise + generator.choice([-1, 1]) * generator.uniform(*_RAMP) * along / points
    period, amplitude = generator.uniform(*_PERIOD), generator.uniform(*_AMPLITUDE) * SPREAD
    return noise + amplitude * np.sin(2 * np.pi * (along / period + generator.random()))


def fresh(generator: np.random.Generator, history: History, index: int, boots: int) -> Values:
    """Boots of the revision at an index, measured by themselves."""
    shape: Shape = history.kind if history.kind in SHAPES else "gauss"
    return history.level[index] + NOISES[shape](generator, (boots,), SPREAD)


def _correlated(generator: np.random.Generator, points: int) -> Values:
    """Each point takes after the one before by half; the spread of a point is that of the other kinds."""
    own = generator.normal(0, SPREAD * np.sqrt(1 - _CORRELATION**2), points)
    own[0] = generator.normal(0, SPREAD)
    for index in range(1, points):
        own[index] += _CORRELATION * own[index - 1]
    return own
