"""Where a break lies: the last point on the course before it, and the first one surely off it.

Plausible is every place whose best course leaves hardly more than the best of all (a likelihood interval).
Points within it are then held against the course before: one that lies surely off it ends the interval;
one that lies on it, where a break but a little before it would likely show, begins it.
"""

from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.curves.choosing import PRIOR, USUAL, Chosen, unevenness
from cliffwatch.stats.curves.courses import Break, Kind, columns
from cliffwatch.stats.power.detection import t_quantile
from cliffwatch.stats.rank_tables import Values

Curve = tuple[Values, Values, Values]
"""Parameters, costs and noise, (points,) each, logs."""

LEAST_SLOPE = 0.1
"""The slope, or change of slope, that is worth a word: doubling the parameter costs 7 % more than before."""

_OUTSIDE = 0.05
_A_LITTLE = 0.1
"""Of a gap between two points: a break so close before a point is said to be at the point."""

_LIKELY = 0.2
_FEWEST = 3
"""Points of a course against which a single further one may be held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A break between the points `low` and `high`."""

    low: int
    high: int
    kind: Kind
    slope_before: float
    """Log over log."""
    slope_after: float
    """Log over log."""
    step: float
    """Log distance of `high` from the first course."""
    weight: float
    """Growth of the sum of squares without this break."""


def place(chosen: Chosen, x: Values, y: Values, noise: Values) -> list[Placed]:
    """The breaks of the best course, in order of the parameter. Logs, (points,) each."""
    squares = float(chosen.squares[chosen.best])
    scale = max(chosen.scale, squares / chosen.freedom)
    plausible = np.flatnonzero(
        chosen.squares <= squares + t_quantile(_OUTSIDE, PRIOR + chosen.freedom) ** 2 * scale
    )
    gaps = np.array([[each.gap for each in chosen.courses.breaks(course)] for course in plausible])
    fit = _Fit.of(chosen.courses.breaks(chosen.best), (x, y, noise))
    bounds: list[tuple[int, int]] = []
    for index in range(gaps.shape[1]):
        begin = bounds[-1][1] if bounds else 0
        widest = max(begin, int(gaps[:, index].min())), int(gaps[:, index].max()) + 1
        bounds.append(_narrowed(widest, begin, fit.shifts[index], (x, y, noise)))
    within = [course for course, each in zip(plausible, gaps, strict=True) if _all_within(each, bounds)]
    if within:
        fit = _Fit.of(
            chosen.courses.breaks(max(within, key=lambda course: chosen.ratios[course])), (x, y, noise)
        )
    return [fit.placed(index, bounds, (x, y)) for index in range(len(bounds))]


def _all_within(gaps: Values, bounds: list[tuple[int, int]]) -> bool:
    return all(low <= gap < high for gap, (low, high) in zip(gaps, bounds, strict=True))


@dataclass(frozen=True, slots=True)
class _Shift:
    """A break as it was fitted: the slope before it, by how much that changes, and the height of the jump."""

    where: Break
    slope: float
    change: float
    height: float

    def level(self, x: Values, y: Values, points: int) -> Values:
        """What the points have beside the course before; level where that has few points and no slope that is
        worth a word.
        """
        return np.asarray(y - (self.slope * x if abs(self.slope) >= LEAST_SLOPE or points > _FEWEST else 0.0))

    def at(self, distance: float, end: float) -> float:
        """By how much a point lies off the course, `distance` behind the break; at the point `end` of the
        axis.
        """
        if self.where.kind == "bend and jump":
            return self.height + self.change * max(0.0, end - self.where.corner)
        return self.height + self.change * distance


def _narrowed(bounds: tuple[int, int], begin: int, shift: _Shift, curve: Curve) -> tuple[int, int]:
    x, y, noise = curve
    low, high = bounds
    sign = float(np.sign(shift.at(x[high] - shift.where.corner, x[high])))
    following = True
    for point in range(low + 1, high):
        rest = shift.level(x, y, low + 1 - begin)
        course = rest[begin : low + 1]
        if len(course) < 2:
            break
        usual = max(USUAL, float(np.median(noise))) ** 2
        freedom = len(course) - 1
        spread = np.sqrt(
            unevenness(float(((course - course.mean()) ** 2).sum()), freedom, usual) * (1 + 1 / len(course))
        )
        reach = t_quantile(2 * _OUTSIDE, PRIOR + freedom) * spread
        off = sign * (rest[point : high + 1] - course.mean())
        if len(course) >= _FEWEST and off.min() > reach:
            return low, point
        near = _A_LITTLE * float(x[point] - x[point - 1])
        would = sign * shift.at(near, float(x[point])) - t_quantile(2 * _LIKELY, PRIOR + freedom) * spread
        following = following and off[0] < min(would, float(noise[point]))
        low = point if following else low
    return low, high


@dataclass(frozen=True, slots=True)
class _Fit:
    """A course as it was fitted: its breaks, and by how much the sum of squares grows without each."""

    shifts: tuple[_Shift, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, breaks: tuple[Break, ...], curve: Curve) -> "_Fit":
        x, y, noise = curve
        parts = [
            np.column_stack([np.ones_like(x), x]),
            *(np.column_stack(columns(each, x)) for each in breaks),
        ]
        coefficients, squares = _fitted(parts, y, noise)
        slope, shifts, weights = float(coefficients[0][1]), [], []
        for index, each in enumerate(breaks, start=1):
            change = float(coefficients[index][0]) if each.kind != "jump" else 0.0
            height = float(coefficients[index][-1]) if each.kind != "bend" else 0.0
            shifts.append(_Shift(each, slope, change, height))
            weights.append(_fitted(parts[:index] + parts[index + 1 :], y, noise)[1] - squares)
            slope += change
        return cls(tuple(shifts), tuple(weights))

    def placed(self, index: int, bounds: list[tuple[int, int]], curve: tuple[Values, Values]) -> Placed:
        """A jump's step is its fitted height; else how far the first point behind the break lies off the
        course before.
        """
        x, y = curve
        shift, (low, high) = self.shifts[index], bounds[index]
        begin = bounds[index - 1][1] if index else 0
        level = shift.level(x, y, low + 1 - begin)
        step = float(level[high] - level[begin : low + 1].mean()) if low >= begin else 0.0
        if shift.where.kind == "jump":
            step = shift.height
        return Placed(
            low=low,
            high=high,
            kind=shift.where.kind,
            slope_before=shift.slope,
            slope_after=shift.slope + shift.change,
            step=step,
            weight=self.weights[index],
        )


def _fitted(parts: list[Values], y: Values, noise: Values) -> tuple[list[Values], float]:
    """The coefficients of each part, and the sum of squares that is left."""
    design = np.column_stack(parts)
    found, *_ = np.linalg.lstsq(design / noise[:, None], y / noise, rcond=None)
    squares = float((((y - design @ found) / noise) ** 2).sum())
    return np.split(found, np.cumsum([part.shape[1] for part in parts])[:-1]), squares
