"""Whether a cut is a step, or a trend, a season or serial correlation that looks like one.

Every cut of a window is judged beside smooth backgrounds: no change, straight and bent lines, and waves of
half a turn to five turns. The best background with all cuts is held against the best without one of them,
both by Schwarz's criterion (Annals of Statistics 6, 1978): twice the logarithm of their likelihood ratio,
less what more parameters cost. Neighbouring points that take after each other carry less than their number
says: evidence is scaled by (1 - r) / (1 + r), r the lag-one correlation of what the best model leaves
(Bartlett, Journal of the Royal Statistical Society 98, 1935).
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
"""Where the weakest cut brings so much, no set without it is looked at: no background that is looked at comes
near a staircase of such steps.
"""

_LEAST = 1e-12
_SAME = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Backgrounds:
    """Orthonormal bases, (backgrounds, points, parameters), those with fewer parameters filled up by zeros,
    and their costs.
    """

    bases: Values
    costs: Values
    rows: Values
    """The bases again, their parameters one below the other."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """`kept` are the cuts that no background explains, by increasing index; `basis` the background that fits
    best beside them, and `share` the share of points that count (1 of independent ones).
    """

    kept: list[int]
    basis: Values
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """The best background beside a set of cuts: twice its negative log likelihood, its cost, and what each
    cut saves of both.
    """

    loss: float
    cost: float
    saved: Values
    basis: Values
    share: float


def judge(values: Values, cuts: Sequence[int], costs: Sequence[float]) -> Judged:
    """Of a window of values with cuts (indexes of the first point of a new level) inside it, each of which
    has to bring its cost.

    Cuts are taken away one by one, that first which brings least for what it costs; the best of the sets
    on this way is kept.
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
    return Judged([cuts[each] for each in kept], fit.basis, fit.share)


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Values and levels side by side, and their products with each other, after each background."""

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


def likelihoods(values: Values, cut: int, others: Sequence[int], judged: Judged) -> Values:
    """Twice the loss of log likelihood of a step elsewhere than at its best place, at each index from 1 on;
    infinite beyond the neighbouring cuts. `others` are the other cuts of the window.
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
    """No change; lines of degree one to three; waves of half a turn and more by quarters, none shorter than
    thirty points.
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
    """A column for each cut: 0 before it, 1 from it on."""
    return (np.arange(count)[:, None] >= np.asarray(cuts, dtype=int)[None, :]).astype(float)


def _share(left: Values) -> float:
    """Correlation less than none is taken for none; short series show less of it than there is, which is
    added (Kendall 1954).
    """
    count = len(left)
    total = float(left @ left)
    if total <= _LEAST * count:
        return 1.0
    lag_one = float(left[1:] @ left[:-1]) / total
    lag_one = min(0.9, max(0.0, lag_one + (1 + 3 * lag_one) / count))
    return (1 - lag_one) / (1 + lag_one)
