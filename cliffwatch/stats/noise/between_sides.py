"""Drift between two sides that were not interleaved: how far they may differ although nothing changed.

The difference of two blocks of boots is compared with the drift inside the blocks. Each side of a row has a
linear and a quadratic contrast. The variance of the contrasts, in units of the noise between neighbours, says
how much the row drifts. A random walk with such contrasts says how far the sides may lie apart.

The distribution of drift is estimated from all rows together: an empirical Bayes estimate over a grid of
drift variances (Kiefer and Wolfowitz, Annals of Mathematical Statistics 27, 1956, by the EM algorithm).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.boot_values import BootValues, EqualBootGroup, to_table
from cliffwatch.stats.rank_tables import Values

SEPARATION = 2.0
"""Variance of the drift between the sides, relative to sides without a gap. The real gap is unknown."""

UNSEEN_ROWS = 0.3
"""Weight, in rows, of drift that no row shows. Matters for reports of few rows."""

HIDDEN = 0.12
"""Share of regime shifts that neither side shows, because they fall within a boot or two of the gap."""

_GRID = np.concatenate([[0.0], 2.0 ** np.arange(15)])
"""Drift variances of the difference of sides, in units of its variance by noise alone."""

_FEWEST = 4
"""Boots per side below which contrasts say nothing about drift."""

_OUTLIER = 4.0
"""In units of robust noise: isolated values further off are replaced."""
_LARGEST_STEP = 3.0
"""In units of robust noise: neighbours further apart differ by a shift, not by noise."""

_ROUNDS = 60
_HALVINGS = 40
_FARTHEST = 1e6
"""Standard errors. No drift reaches further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """All rows of a family."""

    contrasts: Values
    """Linear and quadratic contrast of base, then of head, in units of noise, (rows, 4)."""
    variances: Values
    """Variance of each contrast for each drift variance of the grid, in units of noise, (rows, grid, 4)."""
    freedom: Values
    """Degrees of freedom of the noise, (rows,)."""
    error: Values
    """Standard error of the difference by noise alone, a log, (rows,)."""
    drifts: NDArray[np.bool_]
    """False for rows whose values repeat exactly on both sides, (rows,)."""


class SideDrift:
    """Drift between the sides of each row of a family."""

    def __init__(self, rows: Sequence[BootValues]) -> None:
        self._rows = _rows(rows)

    def p(self, differences: Values) -> Values:
        """For each row: the p-value of the sides' difference, a log, by noise and drift alone."""
        least = np.maximum(self._rows.error, np.abs(differences) / _FARTHEST + 1e-300)
        return np.where(self._rows.drifts, self._tails(np.abs(differences) / least), 0.0)

    def allowances(self, errors: Values) -> Values:
        """For each row: how much further apart the sides may lie than by noise alone, a log; 0 without drift.

        `errors` is the error of each row.
        """
        noise = _quantile(lambda far: _t_tail(far, self._rows.freedom), errors)
        both = _quantile(self._tails, errors)
        return np.where(self._rows.drifts, np.maximum(both - noise, 0.0) * self._rows.error, 0.0)

    def _tails(self, far: Values) -> Values:
        """Two-sided p-values of distances in standard errors by noise alone."""
        weights, scales = self._predicted
        freedom = self._rows.freedom[:, None] + self._rows.contrasts.shape[1]
        return np.asarray((weights * _t_tail(far[:, None] / scales, freedom)).sum(axis=1))

    @cached_property
    def _predicted(self) -> tuple[Values, Values]:
        """For each row a mixture over the grid: weights and scales, (rows, grid).

        Scales are those of the difference, in standard errors by noise alone.
        """
        rows = self._rows
        squares = (rows.contrasts[:, None, :] ** 2 / rows.variances).sum(axis=2)
        freedom, count = rows.freedom[:, None], rows.contrasts.shape[1]
        logs = -0.5 * np.log(rows.variances).sum(axis=2) - 0.5 * (freedom + count) * np.log1p(
            squares / freedom
        )
        likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
        posterior = _posterior(likelihoods[rows.drifts], likelihoods)
        seen = posterior[rows.drifts].mean(axis=0) if rows.drifts.any() else posterior.mean(axis=0)
        scales = np.sqrt((1 + SEPARATION * _GRID) * (freedom + squares) / (freedom + count))
        return (1 - HIDDEN) * posterior + HIDDEN * seen, scales


def _posterior(family: Values, likelihoods: Values) -> Values:
    """Probability of each drift variance for each row. The family's likelihoods give the prior."""
    unseen = np.full(len(_GRID), UNSEEN_ROWS / (len(_GRID) - 1))
    unseen[0] = 0.0
    prior = np.full(len(_GRID), 1 / len(_GRID))
    for _ in range(_ROUNDS):
        counts = _normalise(family * prior).sum(axis=0) + unseen
        prior = counts / counts.sum()
    return _normalise(likelihoods * prior)


def _normalise(weights: Values) -> Values:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _rows(rows: Sequence[BootValues]) -> _Rows:
    count = len(rows)
    found = _Rows(
        contrasts=np.zeros((count, 4)),
        variances=np.ones((count, len(_GRID), 4)),
        freedom=np.ones(count),
        error=np.ones(count),
        drifts=np.ones(count, dtype=bool),
    )
    for group in to_table(rows).groups:
        _measure(group, found)
    return found


def _measure(group: EqualBootGroup, found: _Rows) -> None:
    """Fills in the rows of one group."""
    base, head = _in_boot_order(group.base, group.base_blocks), _in_boot_order(group.head, group.head_blocks)
    n, m = base.shape[1], head.shape[1]
    at = group.indexes
    if not n or not m:
        found.drifts[at] = False
        return
    found.drifts[at] = (np.ptp(base, axis=1) > 0) | (np.ptp(head, axis=1) > 0)
    if min(n, m) < _FEWEST:
        found.error[at] = np.sqrt((base.var(axis=1) + head.var(axis=1)) * (1 / n + 1 / m))
        return
    rough = _robust_noise(base, head)
    base, head = _without_outliers(base, rough), _without_outliers(head, rough)
    noise = _clipped_noise(base, head, rough)
    linear_and_quadratic = [base @ _contrasts(n).T, head @ _contrasts(m).T]
    found.contrasts[at] = np.concatenate(linear_and_quadratic, axis=1) / np.maximum(noise, 1e-12)[:, None]
    found.variances[at] = 1 + _GRID[:, None] * _walk(n, m)
    found.freedom[at] = 2 / 3 * (n + m - 2)
    found.error[at] = noise * math.sqrt(1 / n + 1 / m)


def median_along(values: Values, axis: int) -> Values:
    """Medians along an axis of finite values. numpy's own function loads its masked arrays (20 ms)."""
    ordered = np.sort(values, axis=axis)
    count = values.shape[axis]
    middle = np.take(ordered, [(count - 1) // 2, count // 2], axis=axis)
    return np.asarray(middle.mean(axis=axis))


def _in_boot_order(values: Values, blocks: NDArray[np.int_]) -> Values:
    return np.take_along_axis(values, np.argsort(blocks, axis=1, kind="stable"), axis=1)


def _steps(base: Values, head: Values) -> Values:
    return np.concatenate([np.diff(base, axis=1), np.diff(head, axis=1)], axis=1)


def _robust_noise(base: Values, head: Values) -> Values:
    """Standard deviation between neighbours, from the median of their distances.

    At least a quarter of the plain one, for values that fall in few places.
    """
    steps = np.abs(_steps(base, head))
    plain = np.sqrt((steps**2).mean(axis=1))
    return np.asarray(np.maximum(median_along(steps, 1) / 0.6745, plain / 4) / math.sqrt(2))


def _clipped_noise(base: Values, head: Values, rough: Values) -> Values:
    largest = _LARGEST_STEP * math.sqrt(2) * rough[:, None]
    return np.asarray(np.sqrt((np.clip(_steps(base, head), -largest, largest) ** 2).mean(axis=1) / 2))


def _without_outliers(values: Values, noise: Values) -> Values:
    """Replaces isolated values by the median of themselves and their neighbours."""
    around = np.concatenate([values[:, 1:2], values, values[:, -2:-1]], axis=1)
    middle = median_along(np.stack([around[:, :-2], around[:, 1:-1], around[:, 2:]]), 0)
    return np.asarray(np.where(np.abs(values - middle) > _OUTLIER * noise[:, None], middle, values))


@lru_cache(maxsize=64)
def _contrasts(boots: int) -> Values:
    """The linear and the quadratic contrast of `boots` boots, each of unit length, (2, boots)."""
    places = np.linspace(-1, 1, boots)
    unit, _ = np.linalg.qr(np.stack([np.ones(boots), places, places**2], axis=1))
    return np.asarray(unit.T[1:])


@lru_cache(maxsize=64)
def _walk(n: int, m: int) -> Values:
    """Variances of the four contrasts of a random walk over both sides, (4,).

    The walk is scaled so that the difference of sides has the variance that noise alone gives it.
    """
    steps = np.arange(1.0, n + m + 1)
    covariance = np.minimum.outer(steps, steps)
    difference = np.concatenate([np.full(n, -1 / n), np.full(m, 1 / m)])
    apart = float(difference @ covariance @ difference) / (1 / n + 1 / m)
    within = [np.einsum("ki,ij,kj->k", _contrasts(k), covariance[:k, :k], _contrasts(k)) for k in (n, m)]
    return np.asarray(np.concatenate(within) / apart)


def _t_tail(far: Values, freedom: Values) -> Values:
    """Both tails of Student's t by the normal distribution.

    Wallace, Annals of Mathematical Statistics 30, 1959.
    """
    normal = np.sqrt(freedom * np.log1p(far**2 / freedom)) * (8 * freedom + 1) / (8 * freedom + 3)
    return np.asarray(_erfc(normal / math.sqrt(2)))


_ERFC = (
    -1.26551223,
    1.00002368,
    0.37409196,
    0.09678418,
    -0.18628806,
    0.27886807,
    -1.13520398,
    1.48851587,
    -0.82215223,
)
_ERFC_LAST = 0.17087277


def _erfc(values: Values) -> Values:
    """The complementary error function of values >= 0, to a relative error of 1.2e-7.

    Press and others, Numerical Recipes, 6.2. scipy takes half a second to load.
    """
    t = 1 / (1 + values / 2)
    exponent = np.full_like(t, _ERFC_LAST)
    for coefficient in reversed(_ERFC):
        exponent = exponent * t + coefficient
    return np.asarray(t * np.exp(exponent - values**2))


def _quantile(tail: Callable[[Values], Values], errors: Values) -> Values:
    """The point where a falling tail reaches each row's error."""
    low, high = np.zeros(len(errors)), np.full(len(errors), math.log(_FARTHEST))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = tail(np.expm1(middle)) > errors
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(np.expm1(high))
