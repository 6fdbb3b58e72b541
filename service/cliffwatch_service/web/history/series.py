"""The pages of series: the list, and the history of one series as a chart and in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.identities import series_digest
from cliffwatch.samples import CaseKey, is_rehearsal
from cliffwatch_service.compare.naming import find_revision
from cliffwatch_service.history.change_words import change_words
from cliffwatch_service.history.finding import words_of
from cliffwatch_service.history.published_results import Reference, references
from cliffwatch_service.history.report_summary import is_confirmed, standing_changes
from cliffwatch_service.history.watching.epochs import find_epoch_begins
from cliffwatch_service.history.watching.relative import FEWEST
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.http.cursors import cursor_of, identity, read_cursor
from cliffwatch_service.refusal import not_found
from cliffwatch_service.store import overview, series
from cliffwatch_service.store.history import anchors, watching
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.changes import ChangeRow
from cliffwatch_service.store.history.points import PointRow
from cliffwatch_service.store.history.points import history as newest_points
from cliffwatch_service.store.overview import ForkRow, MeasuredBranchRow, PointAtRow
from cliffwatch_service.store.series import SeriesRow
from cliffwatch_service.web.history.pictures import draw_series_sparks
from cliffwatch_service.web.history.together import Beside, draw_together
from cliffwatch_service.web.layout.drawing import Bounds, History, history, releases, scale_values
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere

router = APIRouter()

RANGES = (50, 200, 1000, 5000)
_PAGE = 100
_FITS = 3.0
"""Factor beyond the values of the series at which a reference line is not drawn.

The page lists it in words only: drawn, it would flatten everything else.
"""

Text = Annotated[str, Query(max_length=2000)]


@router.get("/series")
def list_series(
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    text: Text = "",
    platform: Text = "",
    cursor: Annotated[str | None, Query(max_length=300)] = None,
) -> Response:
    (skip,) = read_cursor(cursor, identity)
    with service.transaction() as connection:
        rows = overview.series_of_case(connection, words_of(text), platform, skip=skip or 0, limit=_PAGE + 1)
        targets = overview.list_targets(connection)
        sparks = draw_series_sparks(connection, [row.digest for row in rows[:_PAGE]])
    following = cursor_of((skip or 0) + _PAGE) if len(rows) > _PAGE else None
    return page(
        request,
        visitor,
        "history/series_list.html",
        rows=rows[:_PAGE],
        sparks=sparks,
        following=following,
        text=text,
        platform=platform,
        platforms=list(dict.fromkeys(each.platform for each in targets)),
    )


@router.get("/series/{digest}")
def show_series(
    digest: Annotated[str, Path(pattern="^[0-9a-f]{32}$")],
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    branch: Annotated[int | None, Query(ge=1, lt=2**31)] = None,
    head: Annotated[str | None, Query(max_length=200)] = None,
    last: Annotated[int, Query(ge=2, le=10_000)] = 200,
    scale: Annotated[str, Query(pattern="^(raw|relative|anchor)$")] = "raw",
    beside: Annotated[Beside | None, Query(alias="with")] = None,
) -> Response:
    """Shows the newest `last` points along a branch. If the series is on no branch, orders them by date."""
    with service.transaction() as connection:
        row = series.series_by_digest(connection, digest)
        if row is None:
            raise not_found("series", digest)
        branches = overview.branches_measured(connection, row.id)
        chosen = next((each for each in branches if branch in (None, each.id)), None)
        points = list(
            reversed(newest_points(connection, service.arms, row.id, chosen.id if chosen else None, last))
        )
        changes = stored_changes.list_changes(
            connection, series=row.id, state=None, at=None, number=None, limit=100
        )
        others = _under_other_names(connection, row)
        known_anchors = anchors.anchors_of(connection, row.id)
        if scale == "anchor":
            points = [point for point in points if point.anchor]
        host_events, trends = (
            watching.host_events_of(connection, row.id),
            watching.trends_of(connection, row.id),
        )
        epochs = find_epoch_begins(connection, points, row.mode)
        own = _own_point(connection, row, head, chosen, points) if head is not None else None
        together = draw_together(connection, row, chosen.id, beside, last) if beside and chosen else None
    values = scale_values(points, scale)
    fitting, listed = _references(row, points)
    return page(
        request,
        visitor,
        "history/series.html",
        series=row,
        rehearsed=is_rehearsal(row.platform),
        others=others,
        branches=branches,
        chosen=chosen,
        points=points,
        values=values,
        changes=changes,
        host_events=host_events,
        trends=trends,
        epochs=epochs,
        anchors=known_anchors,
        fewest_anchored=FEWEST,
        standing=standing_changes(changes),
        own=own,
        ranges=RANGES,
        last=last,
        scale=scale,
        head=head,
        beside=beside,
        together=together,
        drawn=_draw_history(points, values, own, fitting, row.unit, scale),
        positions={point.commit: index for index, point in enumerate(points)},
        references=listed,
        data=_data(row, points, values, changes, own, fitting, scale),
    )


def _under_other_names(connection: Connection[Any], row: SeriesRow) -> list[tuple[str, str]]:
    """Returns other names of the benchmark under which this series exists, each with that series' digest."""
    params = tuple((name, value) for name, value in row.params)
    names = load_catalogue().other_names(row.suite, row.benchmark)
    digests = [
        series_digest(CaseKey(row.suite, name, params), row.metric, row.unit, row.platform, row.mode)
        for name in names
    ]
    known = series.series_ids(connection, digests)
    return [(name, digest) for name, digest in zip(names, digests, strict=True) if digest in known]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPoint:
    """The point of the revision that the visitor asked for, which may be off the branch."""

    commit: str
    subject: str | None
    point: PointAtRow
    fork: ForkRow | None
    """Where the revision left the branch; None if that is unknown."""
    position: int
    """Index of the branch's point at which it is drawn: the fork; without one, the newest."""
    comparable: bool
    """False if the branch's point at `position` belongs to another epoch."""


def _own_point(
    connection: Connection[Any],
    row: SeriesRow,
    head: str,
    chosen: MeasuredBranchRow | None,
    points: Sequence[PointRow],
) -> OwnPoint | None:
    revision = find_revision(connection, head)
    point = overview.point_at(connection, row.id, revision.id)
    if point is None or not points:
        return None
    fork = overview.fork_of(connection, chosen.id, revision.id) if chosen else None
    position = len(points) - 1 if fork is None else _position(points, fork.ordinal)
    return OwnPoint(
        commit=revision.commit,
        subject=revision.subject,
        point=point,
        fork=fork,
        position=position,
        comparable=points[position].epoch == point.epoch,
    )


def _position(points: Sequence[PointRow], ordinal: int) -> int:
    """Returns the index of the last point at or before `ordinal`; 0 if all points are later."""
    before = [
        index for index, point in enumerate(points) if point.ordinal is not None and point.ordinal <= ordinal
    ]
    return before[-1] if before else 0


def _draw_history(
    points: Sequence[PointRow],
    values: Sequence[Bounds],
    own: OwnPoint | None,
    fitting: Sequence[Reference],
    unit: str,
    scale: str,
) -> History | None:
    bounds = (own.point.centre, own.point.low, own.point.high) if own and scale == "raw" else None
    drawn_references = fitting if scale == "raw" else ()
    return history(points, values, unit, own=bounds, references=drawn_references) if points else None


def _references(
    row: SeriesRow, points: Sequence[PointRow]
) -> tuple[list[Reference], list[tuple[Reference, bool]]]:
    """Returns the references that fit into the chart, and all references with True for those that fit."""
    centres = [point.centre for point in points]
    if not centres:
        return [], []
    low, high = min(centres) / _FITS, max(centres) * _FITS
    listed = [(each, low <= each.value <= high) for each in references(row)]
    return [each for each, fits in listed if fits], listed


def _data(
    row: SeriesRow,
    points: Sequence[PointRow],
    values: Sequence[Bounds],
    changes: Sequence[ChangeRow],
    own: OwnPoint | None,
    fitting: Sequence[Reference],
    scale: str,
) -> str:
    """Returns the data of the chart script as JSON. `<` is escaped, so that it cannot end its element."""
    positions = {point.commit: index for index, point in enumerate(points)}
    content = {
        "unit": row.unit if scale == "raw" else "%",
        "commits": [point.commit[:12] for point in points],
        "dates": [f"{point.at:%Y-%m-%d}" for point in points],
        "centre": [value[0] for value in values],
        "low": [value[1] for value in values],
        "high": [value[2] for value in values],
        "epochs": [
            index for index in range(1, len(points)) if points[index].epoch != points[index - 1].epoch
        ],
        "releases": releases(points),
        "changes": [
            {
                "at": positions[each.head],
                "kind": each.kind if is_confirmed(each) else "step",
                "words": change_words(each),
            }
            for each in standing_changes(changes)
            if each.head in positions
        ],
        "own": _encode_own_point(own) if own is not None and scale == "raw" else None,
        "references": (
            [] if scale != "raw" else [{"label": each.label, "value": each.value} for each in fitting]
        ),
    }
    return orjson.dumps(content).decode().replace("<", "\\u003c")


def _encode_own_point(own: OwnPoint) -> dict[str, float | None]:
    return {"at": own.position, "centre": own.point.centre, "low": own.point.low, "high": own.point.high}
