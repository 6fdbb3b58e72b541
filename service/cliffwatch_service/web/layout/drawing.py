"""SVG shapes that a page shows before any script runs. Coordinates only; the style sheet has the colours."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from cliffwatch.comparing.ordering import reported_reach
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch_service.history.published_results import Reference
from cliffwatch_service.store.history.points import PointRow

BAR_WIDTH = 120
_MIDDLE = BAR_WIDTH / 2


@dataclass(frozen=True, slots=True)
class Scale:
    """The common scale of interval bars."""

    reach: float
    """Change at either end, as a fraction."""

    def x(self, change: float) -> float:
        """Returns the x coordinate of a change. A change beyond the scale is drawn at its end."""
        if change >= self.reach:
            return BAR_WIDTH - 2.0
        if change <= -self.reach:
            return 2.0
        return _MIDDLE + (_MIDDLE - 2) * change / self.reach


def common_scale(rows: Iterable[ComparisonRow], thresholds: Iterable[float]) -> Scale:
    """Returns a scale that fits 90 % of the reported intervals and twice every threshold."""
    bounds = reported_reach(rows)
    widest = bounds[math.ceil(0.9 * len(bounds)) - 1] if bounds else 0.0
    return Scale(_round_up(max(widest, *(2 * threshold for threshold in thresholds), 0.001)))


def _round_up(number: float) -> float:
    """Rounds up to a number that is easy to read on an axis."""
    power = 10.0 ** math.floor(math.log10(number))
    return float(
        next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= number * 0.999)
    )


def bar(row: ComparisonRow, scale: Scale) -> str:
    """Returns the SVG path of an interval: a line between its bounds and a stroke at the change.

    A bound beyond the scale ends in an arrow. Empty without a change.
    """
    low, high, change = row.ci_low, row.ci_high, row.change
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
    """Returns left edge and width of the area below a threshold."""
    left, right = band_edges(threshold, scale)
    return left, round(right - left, 1)


def band_edges(size: float, scale: Scale) -> tuple[float, float]:
    """Returns the x coordinates of the changes `-size` and `+size`."""
    return round(scale.x(-size), 1), round(scale.x(size), 1)


@dataclass(frozen=True, slots=True)
class Dot:
    """A value as a dot."""

    x: float
    y: float
    title: str
    """Tooltip."""
    href: str
    """Target of its link; empty without a link."""


def line(points: Sequence[tuple[float, float]]) -> str:
    """Returns the SVG path through the points. A single point is a dot, if the line's ends are round."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) + ("h0" if len(points) == 1 else "")


@dataclass(frozen=True, slots=True)
class Frame:
    """The size of a history's picture, and its margins around the lines."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


HISTORY = Frame(960, 260, 58, 12, 12, 24)
STEP = Frame(720, 240, 66, 12, 12, 24)
"""A history around a change. Narrower, so that its labels can be read on a phone."""
PANEL = Frame(230, 64, 3, 3, 5, 5)
SPARK = Frame(110, 22, 3, 3, 3, 3)


@dataclass(frozen=True, slots=True)
class Step:
    """A change between two points of a history."""

    before: int
    """Index of the last point without it."""
    at: int
    """Index of the first point with it."""
    low: float | None
    """Lower bound of the value after it, on the chosen scale; None without an interval."""
    high: float | None
    """Upper bound."""


@dataclass(frozen=True, slots=True)
class StepMark:
    """A drawn step."""

    left: float
    """X coordinate of the last point without it."""
    x: float
    """X coordinate of the first point with it."""
    low: float | None
    """Y coordinate of the lower bound; None without an interval."""
    high: float | None
    """Y coordinate of the upper bound."""


@dataclass(frozen=True, slots=True)
class History:
    """A drawn series."""

    frame: Frame
    lines: tuple[str, ...]
    """SVG paths, one per epoch."""
    bands: tuple[str, ...]
    """SVG paths of the intervals, one per epoch; empty for fewer than two intervals."""
    dots: tuple[Dot, ...]
    """Empty for more than 400 points."""
    epochs: tuple[float, ...]
    """X coordinates at which a new epoch begins."""
    releases: tuple[tuple[float, str], ...]
    """X coordinates and labels of the first points of releases."""
    y_ticks: tuple[tuple[float, str], ...]
    """Y coordinates and labels."""
    xs: tuple[float, ...]
    """X coordinates of the points."""
    own: tuple[float | None, ...] | None
    """Y coordinates of centre, low and high of a requested revision; None without one."""
    references: tuple[tuple[float, str], ...]
    """Y coordinates and labels of published results."""
    step: StepMark | None


Bounds = tuple[float, float | None, float | None]
"""Centre, low and high of a point, on the chosen scale."""


def scale_values(points: Sequence[PointRow], scale: str) -> list[Bounds]:
    """Returns centre and bounds of each point on a scale.

    `raw` keeps the unit. `relative` and `anchor` give percent against the first point of the epoch or against
    the anchor.
    """
    scaled: list[Bounds] = []
    first, epoch = 1.0, None
    for point in points:
        if scale == "relative" and point.epoch != epoch:
            first, epoch = point.centre or 1.0, point.epoch
        elif scale == "anchor":
            first = point.anchor or 1.0
        low, high = (
            None if each is None else _scale_value(each, first, scale) for each in (point.low, point.high)
        )
        scaled.append((_scale_value(point.centre, first, scale), low, high))
    return scaled


def _scale_value(value: float, first: float, scale: str) -> float:
    return value if scale == "raw" else 100 * (value / first - 1)


def history(
    points: Sequence[PointRow],
    values: Sequence[Bounds],
    unit: str,
    *,
    frame: Frame = HISTORY,
    own: Bounds | None = None,
    references: Sequence[Reference] = (),
    step: Step | None = None,
    within: Sequence[float] = (),
    places: Sequence[int] | None = None,
    slots: int | None = None,
) -> History:
    """Draws points, oldest first, with one line per epoch. `unit` is the unit in their tooltips.

    The value axis has room for the references, the bounds of `step`, the values of `within`, and `own`, the
    value of a requested revision. `places` are the points' indexes on an axis of `slots`, which other series
    share; without them, the points fill the axis.
    """
    further = [*within, *(each.value for each in references), *((step.low, step.high) if step else ())]
    bounds = [bound for bounds in [*values, own or (), further] for bound in bounds if bound is not None]
    low, high = min(bounds), max(bounds)
    room = (high - low) * 0.08 or abs(high) * 0.02 or 1.0
    low, high = low - room, high + room

    def y_of(value: float) -> float:
        return round(
            frame.height
            - frame.bottom
            - (value - low) / (high - low) * (frame.height - frame.top - frame.bottom),
            1,
        )

    count = max(1, (slots or len(points)) - 1)
    xs = tuple(
        round(frame.left + index / count * (frame.width - frame.left - frame.right), 1)
        for index in (places or range(len(points)))
    )
    starts = [
        index for index in range(len(points)) if index == 0 or points[index].epoch != points[index - 1].epoch
    ]
    spans = [range(start, end) for start, end in zip(starts, [*starts[1:], len(points)], strict=True)]
    return History(
        frame=frame,
        lines=tuple(line(_thin([(xs[index], y_of(values[index][0])) for index in span])) for span in spans),
        bands=tuple(_history_band(span, xs, values, y_of) for span in spans),
        dots=(
            tuple(
                Dot(x, y_of(value[0]), point_words(point, unit), f"/revisions/{point.commit}")
                for x, value, point in zip(xs, values, points, strict=True)
            )
            if len(points) <= 400
            else ()
        ),
        epochs=tuple(xs[start] for start in starts[1:]),
        releases=tuple((xs[index], release) for index, release in releases(points)),
        y_ticks=tuple(
            (y_of(value), f"{value:,.5g}") for value in (low + room, (low + high) / 2, high - room)
        ),
        xs=xs,
        own=None if own is None else tuple(None if bound is None else y_of(bound) for bound in own),
        references=tuple((y_of(each.value), each.label) for each in references),
        step=None if step is None else _step_mark(step, xs, y_of),
    )


def releases(points: Sequence[PointRow]) -> list[tuple[int, str]]:
    """Returns index and release of each point whose release differs from that of the point before."""
    first_points = []
    for index, point in enumerate(points):
        release = point.release
        if release and index and release != points[index - 1].release:
            first_points.append((index, release))
    return first_points


def _thin(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Keeps the lowest and the highest point of each column of pixels, so that no path grows without end."""
    kept: list[tuple[float, float]] = []
    for _, group in groupby(points, key=lambda point: int(point[0])):
        column = list(group)
        ends = (min(column, key=lambda point: point[1]), max(column, key=lambda point: point[1]))
        kept += [point for point in column if point in ends] if len(column) > 2 else column
    return kept


def _step_mark(step: Step, xs: Sequence[float], y_of: Any) -> StepMark:
    low, high = (None if bound is None else y_of(bound) for bound in (step.low, step.high))
    return StepMark(xs[step.before], xs[step.at], low, high)


def point_words(point: PointRow, unit: str) -> str:
    """`0123456789ab of 2026-11-21: 26.491 ns/op, n 8`."""
    return f"{point.commit[:12]} of {point.at:%Y-%m-%d}: {point.centre:.6g} {unit}, n {point.n}"


def _history_band(span: range, xs: Sequence[float], values: Sequence[Bounds], y_of: Any) -> str:
    bounded = [index for index in span if values[index][1] is not None and values[index][2] is not None]
    if len(bounded) < 2:
        return ""
    upper = [(xs[index], y_of(values[index][2])) for index in bounded]
    lower = [(xs[index], y_of(values[index][1])) for index in reversed(bounded)]
    return line([*_thin(upper), *_thin(lower)]) + "Z"
