"""Drift between two sides that did not take turns: how far they may differ although nothing changed.

The difference of two blocks of boots is compared with what drifts inside the blocks. Each row has the
linear and the quadratic contrast of either side. Their variance, in units of the noise between neighbours,
says how much the row drifts; what a random walk with such contrasts does between the blocks says how far
the sides may lie apart. How much rows drift is estimated from all rows together: an empirical Bayes
estimate over a grid of drift variances (Kiefer and Wolfowitz, Annals of Mathematical Statistics 27, 1956,
by the EM algorithm).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.boot_values import Alike, BootValues, table_of
from cliffwatch.stats.rank_tables import Values

SEPARATION = 2.0
"""Variance of the drift between sides, relative to sides that follow each other without a gap: the real gap
is not known.
"""

UNSEEN_ROWS = 0.3
"""Weight of drift that no row shows, in rows: what a report of few rows assumes of drift."""

HIDDEN = 0.12
"""Share of regime shifts that fall between the sides, or within a boot or two of it, so that neither side
shows them.
"""

_GRID = np.concatenate([[0.0], 2.0 ** np.arange(15)])
"""Drift variances of the difference of sides, in units of its variance by noise alone."""

_FEWEST = 4
"""Boots per side below which contrasts say nothing of drift."""

_OUTLIER = 4.0
_LARGEST_STEP = 3.0
"""In units of robust noise: isolated values beyond the first are replaced; neighbours differ by more than the
second by a shift, not by noise.
"""

_ROUNDS = 60
_HALVINGS = 40
_FARTHEST = 1e6
"""Standard errors; what is further lies beyond any drift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Rows as their family needs them. `error` is the standard error of the difference by noise alone, as a
    log; (rows,).

    `variances` are those of the four contrasts for each drift variance of the grid, in units of noise,
    (rows, grid, 4).
    """

    contrasts: Values
    variances: Values
    freedom: Values
    error: Values
    drifts: NDArray[np.bool_]


class SideDrift:
    """Drift between the sides of each row of a family."""

    def __init__(self, rows: Sequence[BootValues]) -> None:
        self._rows = _rows(rows)

    def p(self, differences: Values) -> Values:
        """Probability of so large a difference of the sides, a log, by noise and drift alone, of each row."""
        least = np.maximum(self._rows.error, np.abs(differences) / _FARTHEST + 1e-300)
        return np.where(self._rows.drifts, self._tails(np.abs(differences) / least), 0.0)

    def allowances(self, errors: Values) -> Values:
        """How much further than by noise alone the sides may lie apart, a log, at an error for each row; 0 of
        rows without drift.
        """
        noise = _quantile(lambda far: _t_tail(far, self._rows.freedom), errors)
        both = _quantile(self._tails, errors)
        return np.where(self._rows.drifts, np.maximum(both - noise, 0.0) * self._rows.error, 0.0)

    def _tails(self, far: Values) -> Values:
        """Two-sided, of distances in standard errors by noise alone."""
        weights, scales = self._predicted
        freedom = self._rows.freedom[:, None] + self._rows.contrasts.shape[1]
        return np.asarray((weights * _t_tail(far[:, None] / scales, freedom)).sum(axis=1))

    @cached_property
    def _predicted(self) -> tuple[Values, Values]:
        """Of each row a mixture over the grid: weights, and scales of the difference in standard errors by
        noise alone.
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
    """Probabilities of the drift variances of each row, with the distribution that the family's likelihoods
    give.
    """
    unseen = np.full(len(_GRID), UNSEEN_ROWS / (len(_GRID) - 1))
    unseen[0] = 0.0
    prior = np.full(len(_GRID), 1 / len(_GRID))
    for _ in range(_ROUNDS):
        counts = _normalised(family * prior).sum(axis=0) + unseen
        prior = counts / counts.sum()
    return _normalised(likelihoods * prior)


def _normalised(weights: Values) -> Values:
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
    for group in table_of(rows).groups:
        _measure(group, found)
    return found


def _measure(group: Alike, found: _Rows) -> None:
    """Enters rows with as many boots as each other. Values that repeat exactly on both sides do not drift."""
    base, head = _in_time(group.base, group.base_blocks), _in_time(group.head, group.head_blocks)
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
    """Medians along an axis of finite values. numpy's own loads its masked arrays (20 ms)."""
    ordered = np.sort(values, axis=axis)
    count = values.shape[axis]
    middle = np.take(ordered, [(count - 1) // 2, count // 2], axis=axis)
    return np.asarray(middle.mean(axis=axis))


def _in_time(values: Values, blocks: NDArray[np.int_]) -> Values:
    return np.take_along_axis(values, np.argsort(blocks, axis=1, kind="stable"), axis=1)


def _steps(base: Values, head: Values) -> Values:
    return np.concatenate([np.diff(base, axis=1), np.diff(head, axis=1)], axis=1)


def _robust_noise(base: Values, head: Values) -> Values:
    """Standard deviation between neighbours, by the median of their distances; of values in few places no
    less than a quarter of the plain one.
    """
    steps = np.abs(_steps(base, head))
    plain = np.sqrt((steps**2).mean(axis=1))
    return np.asarray(np.maximum(median_along(steps, 1) / 0.6745, plain / 4) / math.sqrt(2))


def _clipped_noise(base: Values, head: Values, rough: Values) -> Values:
    largest = _LARGEST_STEP * math.sqrt(2) * rough[:, None]
    return np.asarray(np.sqrt((np.clip(_steps(base, head), -largest, largest) ** 2).mean(axis=1) / 2))


def _without_outliers(values: Values, noise: Values) -> Values:
    """Isolated values become the median of themselves and their neighbours."""
    around = np.concatenate([values[:, 1:2], values, values[:, -2:-1]], axis=1)
    middle = median_along(np.stack([around[:, :-2], around[:, 1:-1], around[:, 2:]]), 0)
    return np.asarray(np.where(np.abs(values - middle) > _OUTLIER * noise[:, None], middle, values))


@lru_cache(maxsize=64)
def _contrasts(boots: int) -> Values:
    """The linear and the quadratic contrast of so many boots, each of unit length; (2, boots)."""
    places = np.linspace(-1, 1, boots)
    unit, _ = np.linalg.qr(np.stack([np.ones(boots), places, places**2], axis=1))
    return np.asarray(unit.T[1:])


@lru_cache(maxsize=64)
def _walk(n: int, m: int) -> Values:
    """Variances of the four contrasts of a random walk over both sides, where its difference of sides has 1
    in units of noise; (4,).
    """
    steps = np.arange(1.0, n + m + 1)
    covariance = np.minimum.outer(steps, steps)
    difference = np.concatenate([np.full(n, -1 / n), np.full(m, 1 / m)])
    apart = float(difference @ covariance @ difference) / (1 / n + 1 / m)
    within = [np.einsum("ki,ij,kj->k", _contrasts(k), covariance[:k, :k], _contrasts(k)) for k in (n, m)]
    return np.asarray(np.concatenate(within) / apart)


def _t_tail(far: Values, freedom: Values) -> Values:
    """Both tails of Student's distribution by the normal one (Wallace, Annals of Mathematical Statistics 30,
    1959).
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
    """Of values from 0 on, to a relative error of 1.2e-7 (Press and others, Numerical Recipes, 6.2): scipy
    takes half a second to load.
    """
    t = 1 / (1 + values / 2)
    exponent = np.full_like(t, _ERFC_LAST)
    for coefficient in reversed(_ERFC):
        exponent = exponent * t + coefficient
    return np.asarray(t * np.exp(exponent - values**2))


def _quantile(tail: Callable[[Values], Values], errors: Values) -> Values:
    """Where a falling tail reaches the error of each row."""
    low, high = np.zeros(len(errors)), np.full(len(errors), math.log(_FARTHEST))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = tail(np.expm1(middle)) > errors
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(np.expm1(high))
