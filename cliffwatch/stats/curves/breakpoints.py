"""The breakpoints of a sweep: parameter values at which a cost bends or jumps.

Models in log-log space (`courses`) consist of straight pieces with up to two breaks; each break is a bend, a
jump or both. The number of breaks is chosen by tests that hold for curves as uneven as real ones
(`choosing`). Each break gets an interval of measured parameters (`placing`). The noise of a point is that of
its boots, and at least `GRAIN`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cliffwatch.stats.curves.choosing import PRIOR, USUAL, choose, unevenness
from cliffwatch.stats.curves.courses import Kind
from cliffwatch.stats.curves.placing import LEAST_SLOPE, LocatedBreak, place
from cliffwatch.stats.power.detection import t_quantile
from cliffwatch.stats.rank_tables import Values

Course = Literal["flat", "climbs", "falls", "uneven"]

SURE = 0.01
"""Error of the decision that a curve has a breakpoint."""
GRAIN = 0.01
"""Unevenness that every real curve has, as a fraction: page sizes, alignment, cache geometry."""

LEAST_STEP = 0.05
"""Smallest jump, and smallest change over a whole sweep, that is reported; logs."""

FEWEST = 5
"""Fewest points in which a breakpoint is sought."""
MOST = 32
"""Most points that are fitted. A longer sweep is thinned evenly from first to last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """A break of a curve. Slopes are of log cost over log parameter: 0 is flat, 1 proportional."""

    low: float
    """Last measured parameter that is still on the first course."""
    high: float
    """First measured parameter that has surely left it."""
    kind: Kind
    step: float
    """Distance of the cost at `high` from the first course, as a signed fraction."""
    slope_before: float
    slope_after: float
    p: float
    """p-value of the curve having no breakpoint."""
    further: tuple["Breakpoint", ...] = ()
    """Breakpoints of less weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBreakpoint:
    """A sweep without a breakpoint."""

    reason: str
    """Why no breakpoint is reported."""
    course: Course
    slope: float
    """Of log cost over log parameter."""
    change: float
    """Change from first to last point along the course, as a fraction."""
    stray: tuple[float, float] | None = None
    """The first or last parameter and its distance from the course, as a fraction.

    Set if that point alone lies off the course.
    """


def find_breakpoint(
    parameters: Values, costs: Values, spreads: Values | None = None
) -> Breakpoint | NoBreakpoint:
    """Finds the breakpoint of a sweep of positive parameters and costs, (points,).

    `spreads` are standard errors as fractions of the costs; None if unknown.
    """
    parameters, x, y, noise = _points(parameters, costs, spreads)
    if len(x) < FEWEST:
        return _no_breakpoint(
            f"too few points for a breakpoint: {len(x)}, and {FEWEST} are the least", parameters, y, noise
        )
    chosen, p = choose(x, y, noise, SURE)
    if chosen is None:
        return _no_breakpoint(
            f"one straight line in log space fits as well (p = {p:.2g})", parameters, y, noise
        )
    placed = [each for each in place(chosen, x, y, noise) if _is_notable(each)]
    if not placed:
        return _no_breakpoint("what changes of its course is not worth a word", parameters, y, noise)
    placed.sort(key=lambda each: -each.weight)
    first, *further = (_to_breakpoint(each, parameters, p) for each in placed)
    return _to_breakpoint(placed[0], parameters, p, tuple(further)) if further else first


def _points(
    parameters: Values, costs: Values, spreads: Values | None
) -> tuple[Values, Values, Values, Values]:
    """Parameters, log parameters, log costs and noise, in order of the parameter.

    A point's noise is half its own variance and half the mean variance, plus `GRAIN`.
    """
    order = np.unique(parameters, return_index=True)[1]
    if len(order) > MOST:
        order = order[np.linspace(0, len(order) - 1, MOST).round().astype(int)]
    noise = np.zeros(len(order)) if spreads is None else np.nan_to_num(spreads[order])
    noise = np.sqrt((noise**2 + (noise**2).mean()) / 2 + GRAIN**2)
    return parameters[order], np.log(parameters[order]), np.log(costs[order]), noise


def _is_notable(each: LocatedBreak) -> bool:
    if each.kind == "bend":
        return abs(each.slope_after - each.slope_before) >= LEAST_SLOPE
    return abs(each.step) >= LEAST_STEP


def _to_breakpoint(
    each: LocatedBreak, parameters: Values, p: float, further: tuple[Breakpoint, ...] = ()
) -> Breakpoint:
    return Breakpoint(
        low=float(parameters[each.low]),
        high=float(parameters[each.high]),
        kind=each.kind,
        step=float(np.expm1(each.step)),
        slope_before=each.slope_before,
        slope_after=each.slope_after,
        p=p,
        further=further,
    )


def _no_breakpoint(reason: str, parameters: Values, y: Values, noise: Values) -> NoBreakpoint:
    """Fits a straight line, leaving out an end that strays from it."""
    x = np.log(parameters)
    stray = _find_stray_end(x, y, noise)
    kept = np.arange(len(x)) != (len(x) if stray is None else stray[0])
    slope, certain = _slope(x[kept], y[kept], noise[kept])
    change = slope * float(np.ptp(x)) if len(x) else 0.0
    course: Course = "climbs" if change > 0 else "falls"
    if abs(change) < LEAST_STEP:
        course = "flat"
    elif not certain:
        course = "uneven"
    return NoBreakpoint(
        reason=reason,
        course=course,
        slope=slope,
        change=float(np.expm1(change)),
        stray=None if stray is None else (float(parameters[stray[0]]), float(np.expm1(stray[1]))),
    )


def _slope(x: Values, y: Values, noise: Values) -> tuple[float, bool]:
    """Slope of a straight line, and whether its direction is certain.

    It is certain by Student's test, or if every point lies beyond the one before.
    """
    if len(x) < 3:
        return 0.0, False
    slope, start = np.polyfit(x, y, 1, w=1 / noise)
    squares = float(((y - start - slope * x) ** 2).sum())
    error = np.sqrt(unevenness(squares, len(x) - 2) / ((x - x.mean()) ** 2).sum())
    always = len(x) >= FEWEST and bool((np.sign(slope) * np.diff(y) > noise[1:]).all())
    return float(slope), always or bool(abs(slope) > t_quantile(SURE, PRIOR + len(x) - 2) * error)


def _find_stray_end(x: Values, y: Values, noise: Values) -> tuple[int, float] | None:
    """Index and log distance of the end that lies off the line through all other points.

    None if neither end does.
    """
    if len(x) < FEWEST:
        return None
    rises = np.diff(y)
    if bool((rises > noise[1:]).all() or (rises < -noise[1:]).all()):
        return None
    found = [(end, *_end_distance(x, y, noise, end)) for end in (0, len(x) - 1)]
    end, distance, ratio = max(found, key=lambda each: each[2])
    return (end, distance) if ratio > 1 and abs(distance) >= LEAST_STEP else None


def _end_distance(x: Values, y: Values, noise: Values, end: int) -> tuple[float, float]:
    """Log distance of an end point from the line through the others, and its ratio to a critical distance.

    Chance reaches the critical distance once in a hundred times.
    """
    kept = np.arange(len(x)) != end
    slope, start = np.polyfit(x[kept], y[kept], 1, w=1 / noise[kept])
    squares = float(((y - start - slope * x)[kept] ** 2).sum())
    apart = x[kept] - x[kept].mean()
    share = 1 + 1 / kept.sum() + (x[end] - x[kept].mean()) ** 2 / (apart**2).sum()
    usual = max(USUAL, float(noise[end])) ** 2
    reach = t_quantile(SURE / 2, PRIOR + len(x) - 3) * np.sqrt(unevenness(squares, len(x) - 3, usual) * share)
    distance = float(y[end] - start - slope * x[end])
    return distance, abs(distance) / float(reach)
