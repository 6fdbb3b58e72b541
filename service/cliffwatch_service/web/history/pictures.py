"""Pictures of changes: each in the history of its series, around the commit that is blamed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from psycopg import Connection

from cliffwatch_service.history.report_summary import largest_changes, primary_changes, standing_changes
from cliffwatch_service.store.history.changes import ChangeRow
from cliffwatch_service.store.history.points import PointRow
from cliffwatch_service.store.history.windows import change_places, newest_branches, window
from cliffwatch_service.web.layout.drawing import PANEL, SPARK, STEP, Bounds, Frame, History, Step, history

BEFORE, AFTER = 40, 21
"""Most measured revisions in a picture up to base, and from head on: later ones no longer change it."""
MOST_PANELS = 24
_SPARK_POINTS = 40
_FLAT = 0.02
"""Share of the newest value that a sparkline has on each side of it at least, so that noise stays flat."""
_FEWEST_POINTS = 5
"""Points of a history that shows a step rather than two values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseHistory:
    """The history of a change's series around it."""

    change: ChangeRow
    points: Sequence[PointRow]
    """Oldest first."""
    step: Step | None
    """None without a point on each side of the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePicture:
    """A change, drawn."""

    change: ChangeRow
    points: Sequence[PointRow]
    """Oldest first."""
    drawn: History


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPicture:
    """The changes of a report, drawn: the leading case, and the other cases small, on one scale."""

    leading: CasePicture
    """The largest regression with enough of a history; without one, the largest change."""
    others: Sequence[CasePicture]
    more: int
    """Number of changes of primary metrics that are not drawn."""


def draw_report(connection: Connection[Any], changes: Sequence[ChangeRow]) -> ReportPicture | None:
    """Draws the changes of a report, which must be sorted, largest first. None without a history."""
    histories = case_histories(connection, largest_changes(changes, 1 + MOST_PANELS))
    if not histories:
        return None
    leading = next((each for each in histories if len(each.points) >= _FEWEST_POINTS), histories[0])
    others = [each for each in histories if each is not leading]
    return ReportPicture(
        leading=draw_case(leading),
        others=_draw_small(others, PANEL),
        more=count_primary(changes) - len(histories),
    )


def draw_sparks(
    connection: Connection[Any], reports: Sequence[Sequence[ChangeRow]]
) -> dict[int, History | None]:
    """Draws the changes of reports as sparklines, by the id of the change; None without a history."""
    sparks: dict[int, History | None] = {change.id: None for changes in reports for change in changes}
    for changes in reports:
        small = _draw_small(case_histories(connection, changes), SPARK)
        sparks |= {each.change.id: each.drawn for each in small}
    return sparks


def draw_series_sparks(connection: Connection[Any], digests: Sequence[str]) -> dict[str, History]:
    """Draws the newest points of series as sparklines, each along the branch where it was measured last."""
    rows = sorted(newest_branches(connection, digests), key=lambda row: row.branch)
    return {
        digest: history(
            points,
            [(point.centre, None, None) for point in points],
            "",
            frame=SPARK,
            within=[points[-1].centre * (1 + share) for share in (-_FLAT, _FLAT)],
        )
        for branch, group in groupby(rows, key=lambda row: row.branch)
        for digest, points in window(
            connection, branch, [row.digest for row in group], before=_SPARK_POINTS
        ).items()
    }


def count_primary(changes: Sequence[ChangeRow]) -> int:
    """Returns how many standing changes decide the verdict of their case."""
    return len(primary_changes(standing_changes(changes)))


def case_histories(connection: Connection[Any], changes: Sequence[ChangeRow]) -> list[CaseHistory]:
    """Reads the histories around changes that have their place in common, along the branch with most of them.

    Leaves out changes without points there.
    """
    places = change_places(connection, [change.id for change in changes])
    if not places:
        return []
    ((branch, _),) = Counter(place.branch for place in places).most_common(1)
    of_change = {place.change: place for place in places if place.branch == branch}
    placed = [(change, of_change[change.id]) for change in changes if change.id in of_change]
    digests = list({change.series for change, _ in placed})
    middle = placed[0][1].base
    points = window(connection, branch, digests, middle=middle, before=BEFORE, after=AFTER)
    return [
        CaseHistory(
            change=change,
            points=points[change.series],
            step=_step_of(change, points[change.series], place.base, place.head),
        )
        for change, place in placed
        if change.series in points
    ]


def _step_of(change: ChangeRow, points: Sequence[PointRow], base: int, head: int) -> Step | None:
    """Finds a change between the ordinals of its base and head.

    Its bounds are relative to the last point before it, as those of its comparison are to base.
    """
    places = [(index, point.ordinal) for index, point in enumerate(points) if point.ordinal is not None]
    before = [index for index, ordinal in places if ordinal <= base]
    after = [index for index, ordinal in places if ordinal >= head]
    if not before or not after:
        return None
    value = points[before[-1]].centre
    low, high = (None if each is None else value * (1 + each) for each in (change.ci_low, change.ci_high))
    return Step(before[-1], after[0], low, high)


def draw_case(case: CaseHistory) -> CasePicture:
    """Draws a change with its values, their intervals and its own."""
    values = [(point.centre, point.low, point.high) for point in case.points]
    drawn = history(case.points, values, case.change.unit, frame=STEP, step=case.step)
    return CasePicture(change=case.change, points=case.points, drawn=drawn)


def _draw_small(cases: Sequence[CaseHistory], frame: Frame) -> list[CasePicture]:
    """Draws changes without intervals, on one scale: their values relative to the last point before each.

    Leaves out other epochs than that of the step, whose values would flatten all lines. A change from zero
    has a scale of its own.
    """
    scaled = [_relative(_one_epoch(case)) for case in cases]
    within = [
        bound
        for each, values, relative in scaled
        if relative
        for bound in (each.change.ci_low, each.change.ci_high, *(value for value, _, _ in values))
        if bound is not None
    ]
    return [
        CasePicture(
            change=case.change,
            points=case.points,
            drawn=history(
                case.points,
                values,
                case.change.unit,
                frame=frame,
                step=case.step,
                within=within if relative else (),
            ),
        )
        for case, values, relative in scaled
    ]


def _relative(case: CaseHistory) -> tuple[CaseHistory, list[Bounds], bool]:
    """Returns the centres as fractions of the last point before the step, and whether that could be done."""
    first = case.points[case.step.before if case.step else 0].centre
    step, change = case.step, case.change
    if step is not None:
        step = Step(step.before, step.at, change.ci_low, change.ci_high)
    values: list[Bounds] = [
        (point.centre / first - 1 if first else point.centre, None, None) for point in case.points
    ]
    return CaseHistory(change=case.change, points=case.points, step=step), values, bool(first)


def _one_epoch(case: CaseHistory) -> CaseHistory:
    """Cuts a history to the points around its step, or the newest ones, that belong to one epoch."""
    at = case.step.at if case.step else len(case.points) - 1
    start = end = at
    while start and case.points[start - 1].epoch == case.points[at].epoch:
        start -= 1
    while end + 1 < len(case.points) and case.points[end + 1].epoch == case.points[at].epoch:
        end += 1
    step = case.step
    if step is not None:
        step = Step(max(0, step.before - start), step.at - start, step.low, step.high)
    return CaseHistory(change=case.change, points=case.points[start : end + 1], step=step)
