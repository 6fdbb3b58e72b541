"""Decides whether a cut is a step, or a trend, a season or serial correlation that looks like a step.

Every cut of a window is judged beside smooth backgrounds: no change, straight and bent lines, and waves of
half a turn to five turns. The best background with all cuts is compared with the best without one of them by
Schwarz's criterion (Annals of Statistics 6, 1978): twice the log likelihood ratio, less the cost of the
additional parameters.

Correlated neighbours carry less information than their number suggests. So evidence is scaled by (1 - r) / (1
+ r), where r is the lag-one correlation of the best model's residuals (Bartlett, Journal of the Royal
Statistical Society 98, 1935).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cliffwatch.stats.rank_tables import Values

_FEWEST_FOR_WAVES = 40
_SHORTEST_WAVE = 30
_MOST_QUARTERS = 20
_BEYOND_DOUBT = 60.0
"""Evidence of the weakest cut above which no smaller set of cuts is tried.

No background comes near a staircase of steps so clear.
"""

_LEAST = 1e-12
_SAME = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Backgrounds:
    """Smooth backgrounds over one number of points."""

    bases: Values
    """Orthonormal, (backgrounds, points, parameters), padded with zeros."""
    costs: Values
    """Cost of each background's parameters by Schwarz's criterion."""
    rows: Values
    """`bases` as a matrix, (backgrounds * parameters, points)."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedCuts:
    """The cuts of a window that are steps."""

    kept: list[int]
    """Cuts that no background explains, by increasing index."""
    basis: Values
    """Basis of the background that fits best beside them."""
    share: float
    """Effective share of the points; 1 if they are independent."""


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """The best background beside a set of cuts."""

    loss: float
    """Twice its negative log likelihood."""
    cost: float
    saved: Values
    """Loss and cost that each cut saves."""
    basis: Values
    share: float


def judge(values: Values, cuts: Sequence[int], costs: Sequence[float]) -> JudgedCuts:
    """Decides which cuts of a window are steps.

    `cuts` are indexes of the first point of a new level. Each must bring evidence worth its `costs`. Cuts are
    removed one by one, the one with the least evidence beyond its cost first. The best of the sets on this
    path is kept.
    """
    window = _window(values, cuts)
    left, prices = list(range(len(cuts))), list(costs)
    ways: list[tuple[list[int], float, _Fit]] = []
    while True:
        fit = _fit(window, left)
        ways.append((list(left), sum(prices), fit))
        if not left:
            break
        evidence = fit.share * fit.saved - prices
        weakest = int(np.argmin(evidence))
        if evidence[weakest] > _BEYOND_DOUBT:
            break
        del left[weakest], prices[weakest]
    best = 0
    while True:
        share = ways[best][2].share
        losses = [share * fit.loss + fit.cost + price for _, price, fit in ways[best:]]
        if (following := best + int(np.argmin(losses))) == best:
            break
        best = following
    kept, _, fit = ways[best]
    return JudgedCuts([cuts[each] for each in kept], fit.basis, fit.share)


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Values and levels side by side, with their products after each background is removed."""

    both: Values
    across: Values
    products: Values
    backgrounds: Backgrounds


def _window(values: Values, cuts: Sequence[int]) -> _Window:
    backgrounds = backgrounds_of(len(values))
    both = np.column_stack([values, _levels(len(values), cuts)])
    across = (backgrounds.rows @ both).reshape(*backgrounds.bases.shape[::2], both.shape[1])
    products = both.T @ both - across.transpose(0, 2, 1) @ across
    return _Window(both, across, products, backgrounds)


def _fit(window: _Window, cuts: Sequence[int]) -> _Fit:
    columns = np.array([0, *(1 + each for each in cuts)])
    backgrounds, count = window.backgrounds, len(window.both)
    chosen = window.products[:, columns[:, None], columns]
    columns, total, towards, among = columns[1:], chosen[:, 0, 0], chosen[:, 0, 1:], chosen[:, 1:, 1:]
    diagonal = np.arange(len(cuts))
    among[:, diagonal, diagonal] += _LEAST * count
    inverse = np.linalg.inv(among)
    sizes = (inverse @ towards[:, :, None])[:, :, 0]
    left = np.maximum(total - (sizes * towards).sum(axis=1), _LEAST * count)
    losses = count * np.log(left)
    best = int(np.argmin(losses + backgrounds.costs))
    without = count * np.log(left[:, None] + sizes**2 / inverse[:, diagonal, diagonal])
    saved = (without + backgrounds.costs[:, None]).min(axis=0) - losses[best] - backgrounds.costs[best]
    basis, across = backgrounds.bases[best], window.across[best]
    fitted = basis @ (across[:, 0] - across[:, columns] @ sizes[best]) + window.both[:, columns] @ sizes[best]
    share = _share(window.both[:, 0] - fitted)
    return _Fit(float(losses[best]), float(backgrounds.costs[best]), saved, basis, share)


def likelihoods(values: Values, cut: int, others: Sequence[int], judged: JudgedCuts) -> Values:
    """Loss of twice the log likelihood, by index, if a step lay there and not at its best location.

    Infinite at index 0 and beyond the neighbouring cuts. `others` are the other cuts of the window.
    """
    count = len(values)
    low = max((other for other in others if other < cut), default=0) + 1
    high = min((other for other in others if other > cut), default=count)
    places = np.arange(low, high)
    fixed = np.linalg.qr(np.column_stack([judged.basis, _levels(count, others)]))[0]
    rest = values - fixed @ (fixed.T @ values)
    after = np.cumsum(fixed[::-1], axis=0)[::-1][places]
    lengths = count - places - (after**2).sum(axis=1)
    towards = np.cumsum(rest[::-1])[::-1][places]
    gains = np.where(lengths > _SAME, towards**2 / np.maximum(lengths, _SAME), 0.0)
    left = np.maximum(float(rest @ rest) - gains, _LEAST * count)
    loss = np.full(count, np.inf)
    loss[places] = judged.share * count * np.log(left / left.min())
    return loss


@lru_cache(maxsize=256)
def backgrounds_of(count: int) -> Backgrounds:
    """No change, polynomials of degree one to three, and waves from half a turn upwards in quarter turns.

    No wave is shorter than thirty points.
    """
    along = np.linspace(-1, 1, count)
    designs = [np.vander(along, degree + 1) for degree in range(4)]
    if count >= _FEWEST_FOR_WAVES:
        for quarters in range(2, min(_MOST_QUARTERS, 4 * count // _SHORTEST_WAVE) + 1):
            angle = np.pi * quarters / 4 * along
            designs.append(np.column_stack([np.ones(count), np.sin(angle), np.cos(angle)]))
    bases = np.zeros((len(designs), count, 4))
    for number, design in enumerate(designs):
        bases[number, :, : design.shape[1]] = np.linalg.qr(design)[0]
    costs = np.array([design.shape[1] - 1 for design in designs]) * math.log(max(count, 2))
    rows = np.ascontiguousarray(bases.transpose(0, 2, 1).reshape(-1, count))
    return Backgrounds(bases, costs, rows)


def _levels(count: int, cuts: Sequence[int]) -> Values:
    """One column per cut: 0 before it, 1 from it on."""
    return (np.arange(count)[:, None] >= np.asarray(cuts, dtype=int)[None, :]).astype(float)


def _share(left: Values) -> float:
    """Effective share of the points by their lag-one correlation.

    A negative correlation counts as none. Short series underestimate it, so the bias is added back (Kendall
    1954).
    """
    count = len(left)
    total = float(left @ left)
    if total <= _LEAST * count:
        return 1.0
    lag_one = float(left[1:] @ left[:-1]) / total
    lag_one = min(0.9, max(0.0, lag_one + (1 + 3 * lag_one) / count))
    return (1 - lag_one) / (1 + lag_one)
