"""The regression inbox: lists regression reports, shows one, and takes triage."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from cliffwatch.comparing.attribution.blocks import TITLE
from cliffwatch_service.compare.causes import causes_between
from cliffwatch_service.compare.naming import find_revision
from cliffwatch_service.history.quality import quality
from cliffwatch_service.history.report_summary import largest_changes, tally
from cliffwatch_service.history.triage import OPEN, STATES, find_report, triage
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.http.cursors import cursor_of, identity, moment, read_cursor
from cliffwatch_service.ingest.free_form import plain_text
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store.history import bisections, reports
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.news import fixes, outbox
from cliffwatch_service.store.history.reports import ReportState, ReportsWanted
from cliffwatch_service.web.history.pictures import count_primary, draw_report, draw_sparks
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import (
    FormHere,
    ReaderHere,
    Visitor,
    own_address,
    require_form_token,
)

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

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")

ReportId = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]


@router.get("/regressions")
def inbox(
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    state: Annotated[str, Query(max_length=20)] = "open",
    cursor: Annotated[str | None, Query(max_length=300)] = None,
) -> Response:
    """Lists reports by state. `open` means new or acknowledged; `all` means every state."""
    at, number = read_cursor(cursor, moment, identity)
    states: Sequence[str] = {"open": OPEN, "all": STATES}.get(state, (state,))
    with service.transaction() as connection:
        wanted = ReportsWanted(states=states, at=at, number=number, limit=_PAGE + 1)
        rows = reports.list_reports(connection, wanted)
        changes = stored_changes.changes_of_reports(connection, [row.digest for row in rows[:_PAGE]])
        largest = {digest: largest_changes(of_report, _MOST_SHOWN) for digest, of_report in changes.items()}
        sparks = draw_sparks(connection, list(largest.values()))
        known = quality(connection)
    following = cursor_of(rows[_PAGE - 1].opened, rows[_PAGE - 1].id) if len(rows) > _PAGE else None
    return page(
        request,
        visitor,
        "history/regressions.html",
        rows=rows[:_PAGE],
        tallies={digest: tally(of_report) for digest, of_report in changes.items()},
        largest=largest,
        more={
            digest: count_primary(of_report) - len(largest[digest]) for digest, of_report in changes.items()
        },
        sparks=sparks,
        following=following,
        state=state,
        states=("open", *STATES, "all"),
        abouts=_ABOUT,
        quality=known,
    )


@router.get("/regressions/{report}")
def show_report(report: ReportId, request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    with service.transaction() as connection:
        row = find_report(connection, report)
        changes = stored_changes.changes_of_report(connection, row.id)
        said = reports.triage_of(connection, row.id)
        searches = bisections.bisections_of_report(connection, row.id)
        fix = fixes.fix_of(connection, row.id)
        picture = draw_report(connection, changes)
        causes = causes_between(connection, row.base, row.head)
        news, deliveries = outbox.news_of(connection, row.id), outbox.deliveries_of(connection, row.id)
    return page(
        request,
        visitor,
        "history/regression.html",
        report=row,
        tally=tally(changes),
        changes=changes,
        picture=picture,
        causes=causes,
        causes_title=TITLE,
        bisections=searches,
        triage=said,
        fix=fix,
        news=news,
        deliveries=deliveries,
        states=STATES,
        abouts=_ABOUT,
    )


@router.post("/regressions/triage")
def say_triage_of_many(
    service: ServiceHere, form: FormHere, visitor: Annotated[Visitor, require_form_token()]
) -> Response:
    """Stores the same triage for every selected report, or for none of them if it raises Refusal.

    The owners stay unless the visitor takes the reports over.
    """
    selected = [name.removeprefix("report:") for name in form if name.startswith("report:")]
    state, note = _state(form), _text(form, "note", 4000)
    if not selected:
        raise Refusal(422, "nothing selected", "tick the reports that this is about, and send the form again")
    with service.transaction() as connection:
        for digest in selected:
            owner = (
                visitor.caller.name if form.get("assign") == "me" else find_report(connection, digest).owner
            )
            by, now = visitor.caller.name, service.now()
            triage(connection, digest, state=state, owner=owner, note=note, by=by, now=now)
    return RedirectResponse(own_address(form.get("next") or "/regressions"), 303)


@router.post("/regressions/{report}/triage")
def say_triage(
    report: ReportId, service: ServiceHere, form: FormHere, visitor: Annotated[Visitor, require_form_token()]
) -> Response:
    """Stores the triage of one report and returns to the page of the form."""
    state, note = _state(form), _text(form, "note", 4000)
    owner = visitor.caller.name if form.get("assign") == "me" else _text(form, "owner", 200)
    fix = _text(form, "fix", 64)
    with service.transaction() as connection:
        triage(
            connection,
            report,
            state=state,
            owner=owner or None,
            note=note,
            fix=find_revision(connection, fix).commit if fix and not _COMMIT.fullmatch(fix) else fix or None,
            by=visitor.caller.name,
            now=service.now(),
        )
    return RedirectResponse(own_address(form.get("next") or f"/regressions/{report}"), 303)


def _state(form: Mapping[str, str]) -> ReportState:
    state = next((each for each in STATES if each == form.get("state")), None)
    if state is None:
        raise Refusal(
            422, "no such state", f"the states of a report are {', '.join(STATES)}: choose one of these"
        )
    return state


def _text(form: Mapping[str, str], name: str, longest: int) -> str:
    text = plain_text(form.get(name, "").strip())
    if len(text) > longest:
        raise Refusal(422, "too long", f"the field {name!r} has at most {longest:,} characters")
    return text
