"""Several series in one graph: the platforms of a case, or the cases of a benchmark on one platform."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from psycopg import Connection

from cliffwatch_service.store import overview
from cliffwatch_service.store.history.points import PointRow
from cliffwatch_service.store.history.windows import window
from cliffwatch_service.store.series import SeriesRow
from cliffwatch_service.web.layout.drawing import STEP, History, history, scale_values

Beside = Literal["platforms", "cases"]

_MOST_LINES = 8
_MOST_POINTS = 100
"""Of each series."""


@dataclass(frozen=True, slots=True)
class TogetherLine:
    """A series of the graph."""

    series: SeriesRow
    name: str
    """What differs from the other lines: its platform and mode, or its parameters."""
    drawn: History


@dataclass(frozen=True, slots=True)
class Together:
    """Series along one branch, in per cent against the first point of each epoch."""

    lines: Sequence[TogetherLine]
    """The series of the page first."""
    revisions: int
    ends: tuple[PointRow, PointRow]
    """The oldest and the newest point, for the axis."""
    more: bool
    """Whether further series were left out."""


def draw_together(
    connection: Connection[Any], row: SeriesRow, branch: int, beside: Beside, last: int
) -> Together | None:
    """Draws the newest `last` points, at most 100, of a series and of those beside it; None without points.

    A revision stands at the same place in all lines.
    """
    find = overview.series_of_platforms if beside == "platforms" else overview.series_of_benchmark
    found = find(connection, row, _MOST_LINES + 1)
    shown = [row, *(each for each in found if each.id != row.id)][:_MOST_LINES]
    points = window(connection, branch, [each.digest for each in shown], before=min(last, _MOST_POINTS))
    measured = [each for each in shown if each.digest in points]
    if not measured:
        return None
    by_place = {point.ordinal: point for each in measured for point in points[each.digest]}
    ordinals = sorted(ordinal for ordinal in by_place if ordinal is not None)
    place = {ordinal: index for index, ordinal in enumerate(ordinals)}
    values = {each.digest: scale_values(points[each.digest], "relative") for each in measured}
    within = [value for of_series in values.values() for value, _, _ in of_series]
    return Together(
        lines=[
            TogetherLine(
                each,
                _name(each, beside),
                history(
                    points[each.digest],
                    [(value, None, None) for value, _, _ in values[each.digest]],
                    each.unit,
                    frame=STEP,
                    within=within,
                    places=[
                        place[point.ordinal] for point in points[each.digest] if point.ordinal is not None
                    ],
                    slots=len(ordinals),
                ),
            )
            for each in measured
        ],
        revisions=len(ordinals),
        ends=(by_place[ordinals[0]], by_place[ordinals[-1]]),
        more=len(found) > _MOST_LINES,
    )


def _name(row: SeriesRow, beside: Beside) -> str:
    if beside == "platforms":
        return f"{row.platform} {row.mode}"
    return ", ".join(f"{name}={value}" for name, value in row.params) or row.benchmark
