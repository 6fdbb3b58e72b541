"""Endpoints for changes and regression reports, their triage and their quality."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from cliffwatch.formats.reading import as_json
from cliffwatch_service.api.answers import answer, page, take
from cliffwatch_service.api.models.history import Change, Report, ReportNews, ReportWhole
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.api.models.news import PlantedStep
from cliffwatch_service.compare.causes import functions_between
from cliffwatch_service.history.quality import ReportQuality, quality
from cliffwatch_service.history.report_summary import tally
from cliffwatch_service.history.triage import OPEN, find_report, triage
from cliffwatch_service.http.context import PREFIX, Allowed, Cursor, Limit, ServiceHere
from cliffwatch_service.http.cursors import cursor_of, identity, moment, read_cursor
from cliffwatch_service.ingest.free_form import Prose
from cliffwatch_service.ingest.request_fields import Commit
from cliffwatch_service.refusal import not_found
from cliffwatch_service.store import series
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history import reports
from cliffwatch_service.store.history.changes import ChangeRow
from cliffwatch_service.store.history.news import fixes, outbox, planted
from cliffwatch_service.store.history.reports import ReportRow, ReportState, ReportsWanted

router = APIRouter(prefix=PREFIX, tags=["regressions"])

ReportId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The report's identity")]


class Triage(BaseModel):
    """A person's judgement of a report.

    - `note`: the reason.
    - `fix`: the commit that fixed the regression, for the state `fixed`.
    """

    model_config = ConfigDict(extra="forbid")

    state: ReportState
    owner: Annotated[Prose, Field(max_length=200)] | None = None
    note: Annotated[Prose, Field(max_length=4000)] = ""
    fix: Commit | None = None


@router.get("/changes", summary="Changes of series, newest first", responses={200: {"model": Page[Change]}})
def list_changes(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    series_id: Annotated[str | None, Query(alias="series", max_length=32)] = None,
    state: Annotated[str | None, Query(pattern="^(candidate|confirmed|refuted|superseded)$")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    at, number = read_cursor(cursor, moment, identity)
    with service.transaction() as connection:
        row = series.series_by_digest(connection, series_id) if series_id is not None else None
        if series_id is not None and row is None:
            raise not_found("series", series_id)
        rows = stored_changes.list_changes(
            connection, series=row.id if row else None, state=state, at=at, number=number, limit=limit + 1
        )
    return answer(request, page(rows, limit, lambda row: cursor_of(row.found, row.id), _change))


def _change(row: ChangeRow) -> Change:
    return take(Change, row, change=row.digest, params=dict(row.params))


@router.get(
    "/reports",
    summary="Regression reports, newest first; by default the open ones",
    responses={200: {"model": Page[Report]}},
)
def list_reports(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    state: Annotated[list[ReportState] | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    at, number = read_cursor(cursor, moment, identity)
    wanted = ReportsWanted(states=state or OPEN, at=at, number=number, limit=limit + 1)
    with service.transaction() as connection:
        rows = reports.list_reports(connection, wanted)
        changes = stored_changes.changes_of_reports(connection, [row.digest for row in rows[:limit]])

    def listed(row: ReportRow) -> Report:
        return _report(row, changes[row.digest])

    return answer(request, page(rows, limit, lambda row: cursor_of(row.opened, row.id), listed))


def _report(row: ReportRow, changes: Sequence[ChangeRow]) -> Report:
    return take(Report, row, report=row.digest, summary=tally(changes).words)


@router.get(
    "/reports/quality",
    summary="Precision of reports, and recall and latency for planted steps",
    responses={200: {"model": ReportQuality}},
)
def read_quality(request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        return answer(request, quality(connection))


class PlantedBody(BaseModel):
    """A commit that was made slower on purpose.

    `planted` is the time from which it could be measured. If it is missing, it is the service's present time.
    """

    model_config = ConfigDict(extra="forbid")

    commit: Commit
    planted: AwareDatetime | None = None
    note: Annotated[Prose, Field(max_length=1000)] = ""


@router.post(
    "/planted-steps",
    summary="Record a step that was planted on purpose, to measure the recall of reports",
    status_code=201,
    responses={201: {"model": PlantedStep}},
)
def keep_planted(body: PlantedBody, request: Request, service: ServiceHere, caller: Allowed) -> Response:
    moment = body.planted or service.now()
    with service.transaction() as connection:
        planted.keep_planted(connection, body.commit, moment, by=caller.name, note=body.note)
    return answer(request, PlantedStep(commit=body.commit, planted=moment), status=201)


@router.get(
    "/reports/{report}",
    summary="A report with its changes and comments",
    responses={200: {"model": ReportWhole}},
)
def read_report(report: ReportId, request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        row = find_report(connection, report)
        changes = stored_changes.changes_of_report(connection, row.id)
        entries = reports.triage_of(connection, row.id)
        fix, news = fixes.fix_of(connection, row.id), outbox.news_of(connection, row.id)
        functions = functions_between(connection, row.base, row.head)
    whole = {
        **dict(_report(row, changes)),
        "changes": [_change(each) for each in changes],
        "functions": [as_json(each) for each in functions],
        "triage": entries,
        "fix": fix,
        "news": [take(ReportNews, each) for each in news],
    }
    return answer(request, whole)


@router.post("/reports/{report}/triage", summary="Triage a report", responses={200: {"model": Report}})
def triage_report(
    report: ReportId, body: Triage, request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    with service.transaction() as connection:
        triage(
            connection,
            report,
            state=body.state,
            owner=body.owner,
            note=body.note,
            fix=body.fix,
            by=caller.name,
            now=service.now(),
        )
        row = find_report(connection, report)
        changes = stored_changes.changes_of_report(connection, row.id)
    return answer(request, _report(row, changes))
