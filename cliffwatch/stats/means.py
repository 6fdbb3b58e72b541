"""Geometric means of ratios over the rows that both arms have."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from cliffwatch.stats.power.detection import t_quantile
from cliffwatch.stats.rank_tables import Values

RESAMPLES = 4000
_FEWEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRatio:
    """Geometric mean of head / base."""

    ratio: float
    low: float | None
    """Lower bound of the interval; None with too few boots to resample."""
    high: float | None
    """Upper bound; None with too few boots."""


def mean_ratio(base: Values, head: Values, *, level: float, generator: np.random.Generator) -> MeanRatio:
    """The geometric mean over metrics, with an interval from resampling whole boots.

    `base` and `head` are logs, (metrics, boots); a missing value is NaN.

    A boot is drawn with all its metrics, because a disturbance affects all of them (cluster bootstrap:
    Davison and Hinkley, Bootstrap Methods, 1997, section 3.8). A bootstrap of few boots is too narrow by
    sqrt(n / (n - 1)), so the percentile interval is widened by that factor, and by the ratio of Student's
    quantile to the normal one, with Welch's degrees of freedom.
    """
    centre = float(np.mean(np.nanmean(head, axis=1) - np.nanmean(base, axis=1)))
    if min(base.shape[1], head.shape[1]) < _FEWEST:
        return MeanRatio(ratio=math.exp(centre), low=None, high=None)
    theirs, ours = _resample_means(head, generator), _resample_means(base, generator)
    tails = [(1 - level) / 2, (1 + level) / 2]
    widening = _of_few_boots(base.shape[1], head.shape[1]) * _of_unknown_spread(
        ours, theirs, base, head, level
    )
    low, high = ((quantile - centre) * widening for quantile in _quantiles(theirs - ours, tails))
    return MeanRatio(ratio=math.exp(centre), low=math.exp(centre + low), high=math.exp(centre + high))


def _quantiles(values: Values, shares: Sequence[float]) -> list[float]:
    """Quantiles of the numbers among `values`, linear between order statistics. NaN is ignored.

    numpy's own function would load its masked arrays.
    """
    ordered = np.sort(values[~np.isnan(values)])
    quantiles = []
    for share in shares:
        position = share * (len(ordered) - 1)
        low, high = (float(ordered[place]) for place in (math.floor(position), math.ceil(position)))
        along = position - math.floor(position)
        quantiles.append(low + (high - low) * along if along < 0.5 else high - (high - low) * (1 - along))
    return quantiles


def _resample_means(arm: Values, generator: np.random.Generator) -> Values:
    """For each resample of boots: the mean over metrics of the mean over boots, (`RESAMPLES`,)."""
    count = arm.shape[1]
    weights = generator.multinomial(count, np.full(count, 1 / count), size=RESAMPLES).T.astype(float)
    present = np.isfinite(arm)
    if present.all():
        # Complete rows: the mean of means is the mean of each boot's mean, which spares a matrix of rows and
        # resamples.
        return np.asarray(arm.mean(axis=0) @ weights / count)
    sums, counts = np.where(present, arm, 0.0) @ weights, present.astype(float) @ weights
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nanmean(sums / counts, axis=0))


def _of_few_boots(n: int, m: int) -> float:
    fewest = min(n, m)
    return math.sqrt(fewest / (fewest - 1))


def _of_unknown_spread(ours: Values, theirs: Values, base: Values, head: Values, level: float) -> float:
    """Student's quantile over the normal one, with Welch's degrees of freedom (Biometrika 34, 1947)."""
    n, m = base.shape[1], head.shape[1]
    a, b = float(np.nanvar(ours)), float(np.nanvar(theirs))
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)) if a + b > 0 else n + m - 2
    return t_quantile(1 - level, max(1, math.floor(freedom))) / NormalDist().inv_cdf((1 + level) / 2)
