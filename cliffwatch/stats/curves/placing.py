"""Locates a break: the last point on the course before it, and the first point surely off that course.

A location is plausible if its best model leaves little more than the best model of all (a likelihood
interval). Points in this interval are then compared with the course before the break. A point surely off the
course ends the interval. A point on the course begins it, if a break just before that point would likely
show.
"""

from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.curves.choosing import PRIOR, USUAL, ChosenModel, unevenness
from cliffwatch.stats.curves.courses import Break, Kind, columns
from cliffwatch.stats.power.detection import t_quantile
from cliffwatch.stats.rank_tables import Values

Curve = tuple[Values, Values, Values]
"""Log parameters, log costs and noise, (points,) each."""

LEAST_SLOPE = 0.1
"""Smallest slope, or change of slope, that is reported: doubling the parameter costs 7 % more than before."""

_OUTSIDE = 0.05
_A_LITTLE = 0.1
"""Share of the gap between two points. A break this close before a point counts as being at the point."""

_LIKELY = 0.2
_FEWEST = 3
"""Points of a course that a single further point may be compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedBreak:
    """A break between the points `low` and `high`."""

    low: int
    """Index of the last point on the course before."""
    high: int
    """Index of the first point surely off it."""
    kind: Kind
    slope_before: float
    """Slope of the piece before the break."""
    slope_after: float
    """Slope of the piece after the break."""
    step: float
    """Log distance of the point `high` from the course before."""
    weight: float
    """Growth of the sum of squares without this break."""


def place(chosen: ChosenModel, x: Values, y: Values, noise: Values) -> list[LocatedBreak]:
    """Locates the breaks of the best model, in order of the parameter.

    `x`, `y` and `noise` are logs, (points,).
    """
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
        bounds.append(_narrow_interval(widest, begin, fit.shifts[index], (x, y, noise)))
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
    """A fitted break."""

    where: Break
    slope: float
    """Slope before the break."""
    change: float
    """Change of slope at the break; 0 for a jump."""
    height: float
    """Height of the jump; 0 for a bend."""

    def level(self, x: Values, y: Values, points: int) -> Values:
        """The points less the slope of the course before.

        Unchanged if that course has few points and a negligible slope.
        """
        return np.asarray(y - (self.slope * x if abs(self.slope) >= LEAST_SLOPE or points > _FEWEST else 0.0))

    def at(self, distance: float, end: float) -> float:
        """Distance from the course of a point at `end` on the axis, `distance` behind the break."""
        if self.where.kind == "bend and jump":
            return self.height + self.change * max(0.0, end - self.where.corner)
        return self.height + self.change * distance


def _narrow_interval(bounds: tuple[int, int], begin: int, shift: _Shift, curve: Curve) -> tuple[int, int]:
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
    """A fitted model."""

    shifts: tuple[_Shift, ...]
    """Its breaks."""
    weights: tuple[float, ...]
    """Growth of the sum of squares without each break."""

    @classmethod
    def of(cls, breaks: tuple[Break, ...], curve: Curve) -> "_Fit":
        x, y, noise = curve
        parts = [
            np.column_stack([np.ones_like(x), x]),
            *(np.column_stack(columns(each, x)) for each in breaks),
        ]
        coefficients, squares = _fit_parts(parts, y, noise)
        slope, shifts, weights = float(coefficients[0][1]), [], []
        for index, each in enumerate(breaks, start=1):
            change = float(coefficients[index][0]) if each.kind != "jump" else 0.0
            height = float(coefficients[index][-1]) if each.kind != "bend" else 0.0
            shifts.append(_Shift(each, slope, change, height))
            weights.append(_fit_parts(parts[:index] + parts[index + 1 :], y, noise)[1] - squares)
            slope += change
        return cls(tuple(shifts), tuple(weights))

    def placed(self, index: int, bounds: list[tuple[int, int]], curve: tuple[Values, Values]) -> LocatedBreak:
        """Locates one break.

        A jump's step is its fitted height; another break's is the distance of the first point behind it from
        the course before.
        """
        x, y = curve
        shift, (low, high) = self.shifts[index], bounds[index]
        begin = bounds[index - 1][1] if index else 0
        level = shift.level(x, y, low + 1 - begin)
        step = float(level[high] - level[begin : low + 1].mean()) if low >= begin else 0.0
        if shift.where.kind == "jump":
            step = shift.height
        return LocatedBreak(
            low=low,
            high=high,
            kind=shift.where.kind,
            slope_before=shift.slope,
            slope_after=shift.slope + shift.change,
            step=step,
            weight=self.weights[index],
        )


def _fit_parts(parts: list[Values], y: Values, noise: Values) -> tuple[list[Values], float]:
    """Coefficients of each part, and the sum of squares that remains."""
    design = np.column_stack(parts)
    found, *_ = np.linalg.lstsq(design / noise[:, None], y / noise, rcond=None)
    squares = float((((y - design @ found) / noise) ** 2).sum())
    return np.split(found, np.cumsum([part.shape[1] for part in parts])[:-1]), squares
