"""Shapes for SVG: what a page draws before any script runs. Coordinates only; colours are the style sheet's."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cliffwatch_service.published_results import Reference

BAR_WIDTH, BAR_HEIGHT = 120, 14
_MIDDLE = BAR_WIDTH / 2
_MOST_POINTS = 120


@dataclass(frozen=True, slots=True)
class Scale:
    """The common scale of interval bars: `reach` is the change at either end, as a fraction."""

    reach: float

    def x(self, change: float) -> float:
        """The place of a change; what lies beyond the scale is drawn at its end."""
        if change >= self.reach:
            return BAR_WIDTH - 2.0
        if change <= -self.reach:
            return 2.0
        return _MIDDLE + (_MIDDLE - 2) * change / self.reach


def common_scale(rows: Iterable[Mapping[str, Any]], thresholds: Iterable[float]) -> Scale:
    """Wide enough for nine in ten of the intervals that are told, and for twice every threshold."""
    bounds = sorted(
        max(abs(row["ci_low"]), abs(row["ci_high"]))
        for row in rows
        if row["verdict"] in ("regression", "improvement") and row["ci_low"] is not None and row["ci_high"] is not None
    )
    told = bounds[math.ceil(0.9 * len(bounds)) - 1] if bounds else 0.0
    return Scale(_round_up(max(told, *(2 * threshold for threshold in thresholds), 0.001)))


def _round_up(number: float) -> float:
    """To a step that people read easily."""
    power = 10.0 ** math.floor(math.log10(number))
    return float(next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= number * 0.999))


def bar(row: Mapping[str, Any], scale: Scale) -> str:
    """The path of an interval: a line between its bounds, a stroke at the change; arrows where it leaves the scale."""
    low, high, change = row["ci_low"], row["ci_high"], row["change"]
    if change is None:
        return ""
    at = scale.x(change)
    if low is None or high is None:
        return f"M{at:.1f} 2v10"
    path = f"M{scale.x(low):.1f} 7H{scale.x(high):.1f}M{at:.1f} 2v10"
    if low < -scale.reach:
        path += "M5 4L2 7l3 3"
    if high > scale.reach:
        path += f"M{BAR_WIDTH - 5} 4l3 3l-3 3"
    return path


def band(threshold: float, scale: Scale) -> tuple[float, float]:
    """Left edge and width of what lies below a threshold."""
    left, right = band_edges(threshold, scale)
    return left, round(right - left, 1)


def band_edges(size: float, scale: Scale) -> tuple[float, float]:
    """Left and right edge of a difference of this size either way."""
    return round(scale.x(-size), 1), round(scale.x(size), 1)


@dataclass(frozen=True, slots=True)
class Dot:
    """A sample of a strip plot; `title` says what it is."""

    x: float
    y: float
    title: str


@dataclass(frozen=True, slots=True)
class Strip:
    """All samples of one arm in a line: `dots`, and where their median lies."""

    name: str
    dots: tuple[Dot, ...]
    median: float
    n: int


STRIP_WIDTH, STRIP_HEIGHT = 560, 34
_EDGE = 10


def strips(arms: Sequence[tuple[str, Sequence[tuple[float, str]]]]) -> tuple[list[Strip], float, float]:
    """Of arms with their values and titles, on one axis; its least and largest value."""
    values = [value for _, held in arms for value, _ in held]
    low, high = min(values), max(values)
    span = (high - low) or abs(high) or 1.0

    def place(value: float) -> float:
        return round(_EDGE + (value - low) / span * (STRIP_WIDTH - 2 * _EDGE), 1)

    found = []
    for name, held in arms:
        ordered = sorted(value for value, _ in held)
        if ordered:
            middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
            found.append(Strip(name, tuple(_dots(held, place)), place(middle), len(ordered)))
    return found, low, high


def _dots(held: Sequence[tuple[float, str]], place: Any) -> Iterable[Dot]:
    """Equal values lie above each other, so that none hides another."""
    seen: dict[int, int] = {}
    for value, title in sorted(held):
        x = place(value)
        level = seen.get(int(x / 4), 0)
        seen[int(x / 4)] = level + 1
        yield Dot(x, STRIP_HEIGHT - 6 - 5 * (level % 6), title)


CURVE_WIDTH, CURVE_HEIGHT = 460, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 12, 34


@dataclass(frozen=True, slots=True)
class Curve:
    """A sweep on one target: the lines of base and head, the band of head's interval, dots, bends and ticks."""

    base: str
    head: str
    band: str
    dots: tuple[Dot, ...]
    bends: tuple[tuple[str, float, float], ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def curve(points: Sequence[tuple[float, Mapping[str, Any]]], bends: Mapping[str, Sequence[float] | None]) -> Curve:
    """Of parameter values with their rows, on a log axis; `bends` are those of base and head, by name."""
    points = _thinned(sorted(points, key=lambda point: point[0]))
    x_of = _log_axis([value for value, _ in points], _LEFT, CURVE_WIDTH - _RIGHT)
    values = [
        value for _, row in points for value in (row["base"], row["head"], row["base"] * (1 + (row["ci_high"] or 0)))
    ]
    y_of, y_values = _value_axis(min(values), max(values))
    return Curve(
        base=_line([(x_of(value), y_of(row["base"])) for value, row in points]),
        head=_line([(x_of(value), y_of(row["head"])) for value, row in points]),
        band=_band(points, x_of, y_of),
        dots=tuple(Dot(x_of(value), y_of(row["head"]), f"{value:g}: {row['head']:g}") for value, row in points),
        bends=tuple(
            (side, x_of(found[0]), round(x_of(found[1]) - x_of(found[0]), 1)) for side, found in bends.items() if found
        ),
        x_ticks=tuple((x_of(value), f"{value:,g}") for value in _ticks([value for value, _ in points])),
        y_ticks=tuple((y_of(value), f"{value:,.4g}") for value in y_values),
    )


def _value_axis(least: float, largest: float) -> tuple[Any, Sequence[float]]:
    """Places of costs and the values to name: logarithmic where they span more than a factor of five."""
    room = CURVE_HEIGHT - _TOP - _BOTTOM
    if largest > 5 * least > 0:
        low, high = math.log(least / 1.1), math.log(largest * 1.1)
        names = [least, math.exp((math.log(least) + math.log(largest)) / 2), largest]
        return lambda value: round(
            CURVE_HEIGHT - _BOTTOM - (math.log(max(value, least / 1.1)) - low) / (high - low) * room, 1
        ), names
    low, high = least * 0.97, largest * 1.03
    return lambda value: round(CURVE_HEIGHT - _BOTTOM - (value - low) / ((high - low) or 1) * room, 1), (
        low,
        (low + high) / 2,
        high,
    )


def _thinned(points: Sequence[Any]) -> Sequence[Any]:
    """A sweep of thousands of points is drawn by every so many of them."""
    step = math.ceil(len(points) / _MOST_POINTS)
    return points if step == 1 else [*points[::step], points[-1]]


def _log_axis(values: Sequence[float], left: float, right: float) -> Any:
    low, high = math.log(min(values)), math.log(max(values))
    span = (high - low) or 1.0
    return lambda value: round(left + (math.log(value) - low) / span * (right - left), 1)


def _ticks(values: Sequence[float]) -> Sequence[float]:
    """Some of the measured values, far enough from each other to be read."""
    found = [values[0]]
    apart = (math.log(values[-1]) - math.log(values[0])) / 6
    for value in values[1:]:
        if math.log(value) - math.log(found[-1]) >= apart:
            found.append(value)
    return found


def _line(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)


def _band(points: Sequence[tuple[float, Mapping[str, Any]]], x_of: Any, y_of: Any) -> str:
    held = [(value, row) for value, row in points if row["ci_low"] is not None and row["ci_high"] is not None]
    if len(held) < 2:
        return ""
    upper = [(x_of(value), y_of(row["base"] * (1 + row["ci_high"]))) for value, row in held]
    lower = [(x_of(value), y_of(row["base"] * (1 + row["ci_low"]))) for value, row in reversed(held)]
    return _line([*upper, *lower]) + "Z"


HISTORY_WIDTH, HISTORY_HEIGHT = 960, 260


@dataclass(frozen=True, slots=True)
class History:
    """A series as lines, one an epoch, with their bands; marks are drawn at `x_of` places."""

    lines: tuple[str, ...]
    bands: tuple[str, ...]
    dots: tuple[Dot, ...]
    epochs: tuple[float, ...]
    y_ticks: tuple[tuple[float, str], ...]
    places: tuple[float, ...]
    own: tuple[float | None, ...] | None
    references: tuple[tuple[float, str], ...]


Bounds = tuple[float, float | None, float | None]
"""Centre, low and high of a point as they are to be drawn."""


def history(
    points: Sequence[Mapping[str, Any]], values: Sequence[Bounds], own: Bounds | None, references: Sequence[Reference]
) -> History:
    """Of points, oldest first; each epoch is a line of its own. `own` is a pull request's, which lies in the same picture, and
    so do references.
    """
    named = [(each.value,) for each in references]
    bounds = [bound for held in [*values, own or (), *named] for bound in held if bound is not None]
    low, high = min(bounds), max(bounds)
    room = (high - low) * 0.08 or abs(high) * 0.02 or 1.0
    low, high = low - room, high + room

    def y_of(value: float) -> float:
        return round(HISTORY_HEIGHT - 24 - (value - low) / (high - low) * (HISTORY_HEIGHT - 36), 1)

    count = max(1, len(points) - 1)
    places = tuple(round(_LEFT + index / count * (HISTORY_WIDTH - _LEFT - _RIGHT), 1) for index in range(len(points)))
    starts = [
        index for index in range(len(points)) if index == 0 or points[index]["epoch"] != points[index - 1]["epoch"]
    ]
    spans = [range(start, end) for start, end in zip(starts, [*starts[1:], len(points)], strict=True)]
    return History(
        lines=tuple(_line([(places[index], y_of(values[index][0])) for index in span]) for span in spans),
        bands=tuple(_history_band(span, places, values, y_of) for span in spans),
        dots=tuple(
            Dot(place, y_of(value[0]), str(point["commit"]))
            for place, value, point in zip(places, values, points, strict=True)
        )
        if len(points) <= 400
        else (),
        epochs=tuple(places[start] for start in starts[1:]),
        y_ticks=tuple((y_of(value), f"{value:,.5g}") for value in (low + room, (low + high) / 2, high - room)),
        places=places,
        own=None if own is None else tuple(None if bound is None else y_of(bound) for bound in own),
        references=tuple((y_of(each.value), each.label) for each in references),
    )


def _history_band(span: range, places: Sequence[float], values: Sequence[Bounds], y_of: Any) -> str:
    held = [index for index in span if values[index][1] is not None and values[index][2] is not None]
    if len(held) < 2:
        return ""
    upper = [(places[index], y_of(values[index][2])) for index in held]
    lower = [(places[index], y_of(values[index][1])) for index in reversed(held)]
    return _line([*upper, *lower]) + "Z"
