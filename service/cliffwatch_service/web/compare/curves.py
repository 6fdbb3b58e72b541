"""Charts of a benchmark over one parameter: the costs of base and head, and below them the relative change.

The change has a chart of its own because a log axis of costs hides it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch_service.web.layout.drawing import Dot, line

_TOP, _BOTTOM = 12, 176
"""Y coordinates of the chart of costs. The parameter's values stand below it."""
_RATIO_TOP, _RATIO_BOTTOM = 226, 296
_RIGHT = 448
_LETTER = 6.6
"""Width of a character in a label."""
_MOST_POINTS = 120

Coordinate = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The row of one parameter value."""

    value: float
    """Value of the parameter."""
    base: float
    """Cost in the row's unit."""
    head: float
    """Cost in the row's unit."""
    row: ComparisonRow
    href: str
    """Path of the row below the comparison's URL."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of an axis."""

    at: float
    """Coordinate along the axis."""
    label: str
    anchor: str
    """The part of the label that stands at `at`: `middle` or `end`."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The chart of changes, head against base."""

    line: str
    """SVG path."""
    band: str
    """SVG path around the intervals; empty for fewer than two."""
    below: tuple[float, float]
    """Top and height of the area below the smallest threshold."""
    zero: float
    """Y coordinate of no change."""
    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """A sweep on one target."""

    left: float
    """X coordinate at which the axes begin."""
    base: str
    """SVG path."""
    head: str
    """SVG path."""
    dots: tuple[Dot, ...]
    """The points of head."""
    breakpoints: tuple[tuple[str, float, float], ...]
    """Side, left edge and width of each breakpoint."""
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    ratio: Ratio


def curve(points: Sequence[SweepPoint], breakpoints: Mapping[str, Sequence[float] | None]) -> Curve:
    """Draws points on a log axis. `breakpoints` has the parameter range of each side's breakpoint, if any."""
    points = _thin_points(sorted(points, key=lambda point: point.value))
    costs = [cost for point in points for cost in (point.base, point.head)]
    y_of, y_values = _value_axis(min(costs), max(costs))
    labels = [_cost(value) for value in y_values]
    low, high, shares = _shares(points)
    left = round(12 + _LETTER * max(len(label) for label in (*labels, *map(_share, shares))), 1)
    x_of = _log_axis([point.value for point in points], left, _RIGHT)
    return Curve(
        left=left,
        base=line([(x_of(point.value), y_of(point.base)) for point in points]),
        head=line([(x_of(point.value), y_of(point.head)) for point in points]),
        dots=tuple(_dot(point, x_of, y_of(point.head)) for point in points),
        breakpoints=tuple(
            (side, x_of(span[0]), round(x_of(span[1]) - x_of(span[0]), 1))
            for side, span in breakpoints.items()
            if span
        ),
        x_ticks=tuple(_x_ticks([point.value for point in points], x_of)),
        y_ticks=tuple(Tick(y_of(value), label, "end") for value, label in zip(y_values, labels, strict=True)),
        ratio=_ratio(points, x_of, (low, high), shares),
    )


def _dot(point: SweepPoint, x_of: Coordinate, y: float) -> Dot:
    row = point.row
    values = f"{figures.value(row.base)} → {figures.value(row.head)} {row.unit}"
    return Dot(x_of(point.value), y, f"{point.value:,g}: {values}, {figures.percent(row.change)}", point.href)


def _ratio(
    points: Sequence[SweepPoint], x_of: Coordinate, bounds: tuple[float, float], shares: Sequence[float]
) -> Ratio:
    low, high = bounds
    threshold = min(point.row.threshold for point in points)

    def y_of(change: float) -> float:
        return round(_RATIO_BOTTOM - (change - low) / (high - low) * (_RATIO_BOTTOM - _RATIO_TOP), 1)

    changes = [
        (point, x_of(point.value), y_of(point.row.change)) for point in points if point.row.change is not None
    ]
    return Ratio(
        line=line([(x, y) for _, x, y in changes]) if changes else "",
        band=_band([point for point, _, _ in changes], x_of, y_of),
        below=(y_of(threshold), round(y_of(-threshold) - y_of(threshold), 1)),
        zero=y_of(0.0),
        dots=tuple(_dot(point, x_of, y) for point, _, y in changes),
        ticks=tuple(Tick(y_of(share), _share(share), "end") for share in shares),
    )


def _shares(points: Sequence[SweepPoint]) -> tuple[float, float, Sequence[float]]:
    """Returns the ends of the axis of changes, and its labelled values: both extremes, and zero."""
    bounds = [
        bound
        for point in points
        for bound in (
            point.row.change,
            point.row.ci_low,
            point.row.ci_high,
            point.row.threshold,
            -point.row.threshold,
        )
        if bound is not None
    ]
    low, high = min(bounds), max(bounds)
    far = (high - low) / 4
    room = (high - low) * 0.06
    return low - room, high + room, [share for share in (high, 0.0, low) if share == 0 or abs(share) > far]


def _share(change: float) -> str:
    return f"{100 * change:+.2g} %" if change else "0 %"


def _cost(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _value_axis(least: float, largest: float) -> tuple[Coordinate, Sequence[float]]:
    """Returns the cost axis and its labelled values. The axis is logarithmic above a factor of five."""
    room = _BOTTOM - _TOP
    if largest > 5 * least > 0:
        low, high = math.log(least / 1.1), math.log(largest * 1.1)
        names = [least, math.exp((math.log(least) + math.log(largest)) / 2), largest]
        return lambda value: round(
            _BOTTOM - (math.log(max(value, least / 1.1)) - low) / (high - low) * room, 1
        ), names
    low, high = least * 0.97, largest * 1.03
    names = [low, (low + high) / 2, high]
    return lambda value: round(_BOTTOM - (value - low) / ((high - low) or 1) * room, 1), names


def _thin_points(points: Sequence[SweepPoint]) -> Sequence[SweepPoint]:
    """Keeps about 120 evenly spaced points of a long sweep, the last one included."""
    step = math.ceil(len(points) / _MOST_POINTS)
    return points if step == 1 else [*points[::step], points[-1]]


def _log_axis(values: Sequence[float], left: float, right: float) -> Coordinate:
    low, high = math.log(min(values)), math.log(max(values))
    span = (high - low) or 1.0
    return lambda value: round(left + (math.log(value) - low) / span * (right - left), 1)


def _x_ticks(values: Sequence[float], x_of: Coordinate) -> Sequence[Tick]:
    """Labels the last measured value, and every other value whose label overlaps no other."""
    last = Tick(x_of(values[-1]), _parameter(values[-1]), "end")
    free_until = last.at - _width(last.label)
    ticks: list[Tick] = []
    taken = 0.0
    for value in dict.fromkeys(values[:-1]):
        tick = Tick(x_of(value), _parameter(value), "middle")
        half = _width(tick.label) / 2
        if tick.at - half >= taken and tick.at + half <= free_until:
            ticks.append(tick)
            taken = tick.at + half
    return [*ticks, last]


def _parameter(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def _width(label: str) -> float:
    """Returns the width of a label with some space around it."""
    return _LETTER * len(label) + 8


def _band(points: Sequence[SweepPoint], x_of: Coordinate, y_of: Coordinate) -> str:
    bounds = [
        (x_of(point.value), y_of(row.ci_low), y_of(row.ci_high))
        for point in points
        if (row := point.row).ci_low is not None and row.ci_high is not None
    ]
    if len(bounds) < 2:
        return ""
    upper = [(x, high) for x, _, high in bounds]
    lower = [(x, low) for x, low, _ in reversed(bounds)]
    return line([*upper, *lower]) + "Z"
