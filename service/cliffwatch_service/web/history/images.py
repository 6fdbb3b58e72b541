"""Pictures with an address of their own, for mails and wikis: SVG with its colours inside."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from psycopg import Connection

from cliffwatch_service.compare.naming import find_revision
from cliffwatch_service.history.report_summary import standing_changes
from cliffwatch_service.history.triage import find_report
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import overview, series
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history import reports
from cliffwatch_service.store.history.points import PointRow
from cliffwatch_service.store.history.points import history as newest_points
from cliffwatch_service.store.history.windows import branches_with, window
from cliffwatch_service.store.series import SeriesRow
from cliffwatch_service.web.history.pictures import AFTER, BEFORE, case_histories, draw_case, draw_report
from cliffwatch_service.web.history.together import Beside, draw_together
from cliffwatch_service.web.layout.drawing import STEP, history
from cliffwatch_service.web.layout.render import picture
from cliffwatch_service.web.layout.session import ReaderHere

router = APIRouter()

Digest = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
BranchId = Annotated[int | None, Query(ge=1, lt=2**31)]


@router.get("/series/{digest}.svg")
def draw_series(
    digest: Digest,
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,  # noqa: ARG001 - admits whoever may read
    branch: BranchId = None,
    last: Annotated[int, Query(ge=2, le=1000)] = 200,
    beside: Annotated[Beside | None, Query(alias="with")] = None,
) -> Response:
    """Draws the newest `last` points along a branch, with their changes or with other series."""
    with service.transaction() as connection:
        row = _series(connection, digest)
        branches = overview.branches_measured(connection, row.id)
        chosen = next((each.id for each in branches if branch in (None, each.id)), None)
        if beside and chosen is not None:
            together = draw_together(connection, row, chosen, beside, last)
            if together is not None:
                return picture(request, "history/together.svg", series=row, beside=beside, together=together)
        points = newest_points(connection, service.arms, row.id, chosen, last)[::-1]
        changes = stored_changes.list_changes(
            connection, series=row.id, state=None, at=None, number=None, limit=100
        )
    return _draw_points(request, row, points, standing=standing_changes(changes), marked=None)


@router.get("/series/{digest}/{commit}.svg")
def draw_series_at(
    digest: Digest,
    commit: Annotated[str, Path(max_length=200)],
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,  # noqa: ARG001 - admits whoever may read
    branch: BranchId = None,
) -> Response:
    """Draws a series around a commit, with the change that it made, if it made one.

    At most 40 points before it and 20 behind it, so that the picture does not change when the branch goes on.
    """
    with service.transaction() as connection:
        row = _series(connection, digest)
        revision = find_revision(connection, commit)
        changes = stored_changes.list_changes(
            connection, series=row.id, state=None, at=None, number=None, limit=100
        )
        made = [each for each in standing_changes(changes) if each.head == revision.commit]
        histories = case_histories(connection, made[:1])
        if histories:
            return picture(request, "history/step.svg", picture=draw_case(histories[0]))
        points = _points_around(connection, row, revision.id, branch)
    marked = next((index for index, each in enumerate(points) if each.commit == revision.commit), None)
    if marked is None:
        raise Refusal(
            404,
            "no point",
            f"this series has no point at {revision.commit[:12]} on a branch:"
            f" /series/{digest} lists the revisions that it has",
        )
    return _draw_points(request, row, points, standing=(), marked=marked)


@router.get("/regressions/{report}.svg")
def draw_regression(
    report: Annotated[str, Path(pattern="^[0-9a-f]{7,64}$")],
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,  # noqa: ARG001 - admits whoever may read
) -> Response:
    """Draws the changes of a report, which is named by its 32 digits or by the commit that is its culprit."""
    with service.transaction() as connection:
        digest = report if len(report) == 32 else _report_of(connection, report)
        row = find_report(connection, digest)
        drawn = draw_report(connection, stored_changes.changes_of_report(connection, row.id))
    if drawn is None:
        raise Refusal(
            404, "no history", f"no change of this report has a history to draw: see /regressions/{digest}"
        )
    return picture(request, "history/report.svg", report=row, picture=drawn)


def _report_of(connection: Connection[Any], commit: str) -> str:
    digest = reports.report_of_culprit(connection, find_revision(connection, commit).commit)
    if digest is None:
        raise not_found("regression report with the culprit", commit)
    return digest


def _series(connection: Connection[Any], digest: str) -> SeriesRow:
    row = series.series_by_digest(connection, digest)
    if row is None:
        raise not_found("series", digest)
    return row


def _points_around(
    connection: Connection[Any], row: SeriesRow, revision: int, branch: int | None
) -> Sequence[PointRow]:
    """Returns the points around a revision along a branch that has it; none if no branch has it."""
    places = [place for place in branches_with(connection, revision) if branch in (None, place.branch)]
    if not places:
        return []
    middle = places[0].ordinal
    found = window(
        connection, places[0].branch, [row.digest], middle=middle, before=BEFORE + 1, after=AFTER - 1
    )
    return found.get(row.digest, [])


def _draw_points(
    request: Request,
    row: SeriesRow,
    points: Sequence[PointRow],
    *,
    standing: Sequence[stored_changes.ChangeRow],
    marked: int | None,
) -> Response:
    if not points:
        raise Refusal(404, "no history", "this series has no points yet: they come from followed branches")
    values = [(point.centre, point.low, point.high) for point in points]
    return picture(
        request,
        "history/series.svg",
        series=row,
        points=points,
        drawn=history(points, values, row.unit, frame=STEP),
        standing=standing,
        positions={point.commit: index for index, point in enumerate(points)},
        marked=marked,
    )
