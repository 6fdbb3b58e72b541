"""The regression inbox: what is open, how sure and how old, whose it is, and the comments on it."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from cliffwatch_service.history.report_summary import largest_changes, tally
from cliffwatch_service.history.triage import OPEN, STATES, quality, report_named, triage
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.http.cursors import cursor_of, identity, moment, read_cursor
from cliffwatch_service.ingest.free_form import plain_text
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history import reports
from cliffwatch_service.store.history.reports import ReportsWanted
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import FormHere, ReaderHere, Visitor, own_address, signed_form

router = APIRouter()

_PAGE = 30
_MOST_SHOWN = 5
_ABOUT: Mapping[str, str] = {
    "new": "nobody has looked yet",
    "acknowledged": "real, and to be fixed",
    "expected": "real, and accepted",
    "fixed": "gone with a later revision",
    "noise": "no change of the kernel's",
}

ReportId = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]


@router.get("/regressions")
def inbox(
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    state: Annotated[str, Query(max_length=20)] = "open",
    cursor: Annotated[str | None, Query(max_length=300)] = None,
) -> Response:
    """Reports in a state, `open` (new or acknowledged) or `all`."""
    at, number = read_cursor(cursor, moment, identity)
    states: Sequence[str] = {"open": OPEN, "all": STATES}.get(state, (state,))
    with service.transaction() as connection:
        wanted = ReportsWanted(states=states, at=at, number=number, limit=_PAGE + 1)
        rows = reports.list_reports(connection, wanted)
        changes = stored_changes.changes_of_reports(connection, [row.digest for row in rows[:_PAGE]])
        known = quality(connection)
    following = cursor_of(rows[_PAGE - 1].opened, rows[_PAGE - 1].id) if len(rows) > _PAGE else None
    return page(
        request,
        visitor,
        "history/regressions.html",
        rows=rows[:_PAGE],
        tallies={digest: tally(of_report) for digest, of_report in changes.items()},
        largest={digest: largest_changes(of_report, _MOST_SHOWN) for digest, of_report in changes.items()},
        following=following,
        state=state,
        states=("open", *STATES, "all"),
        abouts=_ABOUT,
        quality=known,
    )


@router.get("/regressions/{report}")
def show_report(report: ReportId, request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    with service.transaction() as connection:
        row = report_named(connection, report)
        changes = stored_changes.changes_of_report(connection, row.id)
        said = reports.triage_of(connection, row.id)
    return page(
        request,
        visitor,
        "history/regression.html",
        report=row,
        tally=tally(changes),
        changes=changes,
        triage=said,
        states=STATES,
        abouts=_ABOUT,
    )


@router.post("/regressions/{report}/triage")
def say_triage(
    report: ReportId, service: ServiceHere, form: FormHere, visitor: Annotated[Visitor, signed_form()]
) -> Response:
    """Stores a person's triage of a report, and goes back to the page of the form."""
    state, owner, note = (plain_text(form.get(name, "").strip()) for name in ("state", "owner", "note"))
    if state not in STATES:
        raise Refusal(422, "no such state", f"the states of a report are {', '.join(STATES)}: choose one of these")
    if len(owner) > 200 or len(note) > 4000:
        raise Refusal(422, "too long", "an owner has at most 200 characters, a note 4,000")
    with service.transaction() as connection:
        triage(
            connection,
            report,
            state=state,
            owner=owner or None,
            note=note,
            by=visitor.caller.name,
            now=service.now(),
        )
    return RedirectResponse(own_address(form.get("next") or f"/regressions/{report}"), 303)
