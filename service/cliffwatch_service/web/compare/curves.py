"""A benchmark over one parameter: what base and head cost, and below it by how much they differ, which no log
axis shows.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch_service.web.layout.drawing import Dot, line

_TOP, _BOTTOM = 12, 176
"""Of the costs; below them stand the parameter's values."""
_RATIO_TOP, _RATIO_BOTTOM = 226, 296
_RIGHT = 448
_LETTER = 6.6
"""Width of a digit in a label."""
_MOST_POINTS = 120

Coordinate = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """A value of the parameter, what base and head cost there, the row that says it, and where that row
    stands.
    """

    value: float
    base: float
    head: float
    row: ComparisonRow
    href: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of an axis; `anchor` is which part of it stands at `at`."""

    at: float
    label: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Ratio:
    """Head over base, as a change: its line, the band of its bounds, what lies below the threshold (top and
    height), dots.
    """

    line: str
    band: str
    below: tuple[float, float]
    zero: float
    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """A sweep on one target: the lines of base and head, head's dots, breakpoints and ticks; `left` is where
    the axes begin.
    """

    left: float
    base: str
    head: str
    dots: tuple[Dot, ...]
    breakpoints: tuple[tuple[str, float, float], ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    ratio: Ratio


def curve(points: Sequence[SweepPoint], breakpoints: Mapping[str, Sequence[float] | None]) -> Curve:
    """Of points on a log axis; `breakpoints` are those of base and head, by name."""
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
    """The ends of the axis of changes, and the changes to name: the largest either way, and none at all."""
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
    """Places of costs and the values to name: logarithmic where they span more than a factor of five."""
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
    """A sweep of thousands of points is drawn by every so many of them."""
    step = math.ceil(len(points) / _MOST_POINTS)
    return points if step == 1 else [*points[::step], points[-1]]


def _log_axis(values: Sequence[float], left: float, right: float) -> Coordinate:
    low, high = math.log(min(values)), math.log(max(values))
    span = (high - low) or 1.0
    return lambda value: round(left + (math.log(value) - low) / span * (right - left), 1)


def _x_ticks(values: Sequence[float], x_of: Coordinate) -> Sequence[Tick]:
    """The last of the measured values, and of the others those whose labels lie on no other label."""
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
    """Of a label with some air."""
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
