"""Chooses the number of breaks of a curve: a straight line against one and two breaks, then one against two.

The statistic is the largest F-ratio over all models. The simpler model may leave out the end that it fits
worst, so that one odd end is no break. With any one point left out, `INSIDE` times the error is allowed.

The null distribution is simulated: curves without the break, with Gaussian noise as uneven as the worst real
curves (Andrews, Econometrica 61, 1993, has the theory of such maxima). Against two breaks, the fitted curve
with one break is simulated.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.curves.courses import Courses, line, one_break, two_breaks
from cliffwatch.stats.rank_tables import Values

UNEVEN = 0.05
"""Unevenness of the worst curves without a break, as a fraction. Null curves are simulated with it."""

USUAL = 0.04
"""Unevenness of a usual curve, as a fraction.

It counts like `PRIOR` points, because few points may fit a model by luck.
"""

PRIOR = 6
INSIDE = 4
"""Factor on the allowed error when any point may be left out: odd points inside are rarer than odd ends."""

DRAWS = 999
"""Simulated null curves."""
_SEED = 73087489250


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """Courses with the chosen number of breaks."""

    courses: Courses
    squares: Values
    """Sum of squares that each model leaves, (models,)."""
    ratios: Values
    """F-ratio of each model, (models,)."""
    best: int
    """Index of the best model."""
    freedom: int
    """Degrees of freedom of the best model."""
    scale: float
    """Variance about the best model, in units of the noise."""
    p: float
    """p-value of fewer breaks."""


def choose(x: Values, y: Values, noise: Values, sure: float) -> tuple[ChosenModel | None, float]:
    """The best model of a curve, None if it is a straight line, and the p-value of a straight line.

    `x`, `y` and `noise` are logs, (points,). `sure` is the error.
    """
    straight, middle = line(x, noise), float(np.median(noise))
    usual = max(1.0, USUAL / middle) ** 2
    draws = np.random.default_rng(_SEED).standard_normal((len(x), DRAWS)) * max(1.0, UNEVEN / middle)
    rests = _residuals(np.column_stack([y / noise, draws]), straight)
    found = []
    for courses in (one_break(x, noise), two_breaks(x, noise)):
        judged = courses.only(len(x) - 2 - courses.parameters > 0)
        if len(judged.members):
            found.append(
                _fit_against_null(
                    judged, rests, _without_one(rests, (straight**2).sum(axis=1)[:, None]), usual
                )
            )
    if not found:
        return None, 1.0
    p = min(1.0, len(found) * min(each.p for each in found))
    if p > sure:
        return None, p
    if len(found) == 1:
        return found[0], p
    one, two = found
    return (two if _second(one, two, (x, y, noise), usual) <= sure else one), p


def unevenness(squares: float, freedom: int, usual: float = USUAL**2) -> float:
    """Variance about a model, from the sum of squares it leaves and the usual variance."""
    return (PRIOR * usual + squares) / (PRIOR + freedom)


def _residuals(curves: Values, basis: Values) -> Values:
    return np.asarray(curves - basis @ (basis.T @ curves))


def _without_one(rests: Values, leverage: Values) -> tuple[Values, Values]:
    """Sums of squares of each curve with the worse end left out, and with the worst point left out.

    `leverage` is (points, 1) or (points, curves).
    """
    saved = np.where(leverage < 1 - 1e-6, rests**2 / np.maximum(1e-6, 1 - leverage), 0.0)
    squares = (rests**2).sum(axis=0)
    return np.asarray(squares - saved[[0, -1]].max(axis=0)), np.asarray(squares - saved.max(axis=0))


def _fit_against_null(
    courses: Courses, rests: Values, simpler: tuple[Values, Values], usual: float
) -> ChosenModel:
    """Fits the first curve against the null curves in the other columns.

    `simpler` are the sums of squares that the simpler model leaves.
    """
    squares = np.maximum(0.0, (rests[:, :1] ** 2).sum(axis=0) - courses.gains(rests[:, :1]))[:, 0]
    ratios = _ratios(simpler[0][0], squares, courses.parameters, len(rests), usual)
    best = int(ratios.argmax())
    freedom = len(rests) - 2 - int(courses.parameters[best])
    ends, inside = _largest(courses, rests, simpler, usual)
    return ChosenModel(
        courses=courses,
        squares=squares,
        ratios=ratios,
        best=best,
        freedom=freedom,
        scale=(PRIOR * usual + float(squares[best])) / (PRIOR + freedom),
        p=max(_share_beyond(ends), _share_beyond(inside) / INSIDE),
    )


def _ratios(
    simpler: Values, squares: Values, parameters: NDArray[np.int64] | int, points: int, usual: float
) -> Values:
    noise = (PRIOR * usual + squares) / (PRIOR + points - 2 - parameters)
    return np.asarray((simpler - squares) / parameters / noise)


def _largest(courses: Courses, rests: Values, simpler: tuple[Values, Values], usual: float) -> list[Values]:
    """Largest F-ratio of each curve, (curves,), for both kinds of `simpler`.

    Among models with equally many parameters, the smallest sum of squares gives it.
    """
    total = (rests**2).sum(axis=0)
    groups = [
        (parameters, np.maximum(0.0, total - gain)) for parameters, gain in courses.largest_gains(rests)
    ]
    return [
        np.max(
            [_ratios(each, squares, parameters, len(rests), usual) for parameters, squares in groups], axis=0
        )
        for each in simpler
    ]


def _share_beyond(largest: Values) -> float:
    """p-value: the share of null curves whose ratio reaches that of the first curve."""
    return float(1 + (largest[1:] >= largest[0]).sum()) / (DRAWS + 1)


def _second(one: ChosenModel, two: ChosenModel, curve: tuple[Values, Values, Values], usual: float) -> float:
    """p-value of one break against two."""
    x, y, noise = curve
    straight = line(x, noise)
    basis = np.column_stack([straight, one.courses.bases[one.best]])
    fitted = basis @ (basis.T @ (y / noise))
    size = max(one.scale, (UNEVEN / float(np.median(noise))) ** 2)
    draws = np.random.default_rng(_SEED + 1).standard_normal((len(x), DRAWS)) * np.sqrt(size)
    rests = _residuals(np.column_stack([y / noise, fitted[:, None] + draws]), straight)
    bases = one.courses.bases[((rests**2).sum(axis=0) - one.courses.gains(rests)).argmin(axis=0)]
    left = rests - np.einsum("cpk,ck->pc", bases, np.einsum("cpk,pc->ck", bases, rests))
    leverage = (straight**2).sum(axis=1)[:, None] + (bases**2).sum(axis=2).T
    return _fit_against_null(two.courses, rests, _without_one(left, leverage), usual).p
