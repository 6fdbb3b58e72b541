"""The breakpoints of a sweep: parameter values at which a cost bends or jumps.

Courses of straight pieces in log-log space with up to two breaks, each a bend, a jump or both, against one
straight line (`curves`): how many breaks by tests that hold for curves as uneven as real ones, the
interval of each in measured parameters. Points carry the noise of their boots, never less than `GRAIN`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cliffwatch.stats.curves.choosing import PRIOR, USUAL, choose, unevenness
from cliffwatch.stats.curves.courses import Kind
from cliffwatch.stats.curves.placing import LEAST_SLOPE, Placed, place
from cliffwatch.stats.power.detection import t_quantile
from cliffwatch.stats.rank_tables import Values

Course = Literal["flat", "climbs", "falls", "uneven"]

SURE = 0.01
GRAIN = 0.01
"""Unevenness, as a fraction, that every real curve has: page sizes, alignment, cache geometry."""

LEAST_STEP = 0.05
"""The height of a jump, and the change over a whole sweep, that are worth a word; logs."""

FEWEST = 5
MOST = 32
"""Points that are judged; of longer sweeps so many, evenly from first to last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """A break of a curve. Slopes are of log cost over log parameter: 0 is flat, 1 proportional."""

    low: float
    """Up to this measured parameter the curve keeps its first course."""
    high: float
    """By this one it has surely left it."""
    kind: Kind
    step: float
    """How far the cost at `high` lies above (or below) the first course, a fraction."""
    slope_before: float
    slope_after: float
    p: float
    """Of no breakpoint."""
    further: tuple["Breakpoint", ...] = ()
    """Breakpoints of less weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBreakpoint:
    """Why no breakpoint is named, and the course that the curve keeps: its `slope`, and the `change` from
    first to last, a fraction.

    `stray` is the first or last parameter where that point alone lies off the course, with its distance as
    a fraction.
    """

    reason: str
    course: Course
    slope: float
    change: float
    stray: tuple[float, float] | None = None


def find_breakpoint(
    parameters: Values, costs: Values, spreads: Values | None = None
) -> Breakpoint | NoBreakpoint:
    """Of a sweep: positive parameters and costs, (points,); `spreads` are standard errors as fractions of the
    costs.
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
    placed = [each for each in place(chosen, x, y, noise) if _worth_a_word(each)]
    if not placed:
        return _no_breakpoint("what changes of its course is not worth a word", parameters, y, noise)
    placed.sort(key=lambda each: -each.weight)
    first, *further = (_named(each, parameters, p) for each in placed)
    return _named(placed[0], parameters, p, tuple(further)) if further else first


def _points(
    parameters: Values, costs: Values, spreads: Values | None
) -> tuple[Values, Values, Values, Values]:
    """In order of the parameter: parameters, both logs, and the noise, to which a point's own spread and that
    of all contribute alike.
    """
    order = np.unique(parameters, return_index=True)[1]
    if len(order) > MOST:
        order = order[np.linspace(0, len(order) - 1, MOST).round().astype(int)]
    noise = np.zeros(len(order)) if spreads is None else np.nan_to_num(spreads[order])
    noise = np.sqrt((noise**2 + (noise**2).mean()) / 2 + GRAIN**2)
    return parameters[order], np.log(parameters[order]), np.log(costs[order]), noise


def _worth_a_word(each: Placed) -> bool:
    if each.kind == "bend":
        return abs(each.slope_after - each.slope_before) >= LEAST_SLOPE
    return abs(each.step) >= LEAST_STEP


def _named(each: Placed, parameters: Values, p: float, further: tuple[Breakpoint, ...] = ()) -> Breakpoint:
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
    """With the course of a straight line, without the end that strays from it."""
    x = np.log(parameters)
    stray = _stray(x, y, noise)
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
    """The slope of a straight line, and whether its direction is certain: by Student's test, or because every
    point lies beyond the last.
    """
    if len(x) < 3:
        return 0.0, False
    slope, start = np.polyfit(x, y, 1, w=1 / noise)
    squares = float(((y - start - slope * x) ** 2).sum())
    error = np.sqrt(unevenness(squares, len(x) - 2) / ((x - x.mean()) ** 2).sum())
    always = len(x) >= FEWEST and bool((np.sign(slope) * np.diff(y) > noise[1:]).all())
    return float(slope), always or bool(abs(slope) > t_quantile(SURE, PRIOR + len(x) - 2) * error)


def _stray(x: Values, y: Values, noise: Values) -> tuple[int, float] | None:
    """The end that lies off the line of all the others: its place and log distance."""
    if len(x) < FEWEST:
        return None
    rises = np.diff(y)
    if bool((rises > noise[1:]).all() or (rises < -noise[1:]).all()):
        return None
    found = [(end, *_apart(x, y, noise, end)) for end in (0, len(x) - 1)]
    end, distance, ratio = max(found, key=lambda each: each[2])
    return (end, distance) if ratio > 1 and abs(distance) >= LEAST_STEP else None


def _apart(x: Values, y: Values, noise: Values, end: int) -> tuple[float, float]:
    """How far a point lies from the line of the others, and that over the distance which chance would reach
    once in a hundred times.
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
