"""The pages of the queue, of requests and of jobs, with live progress."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from cliffwatch.formats.work import PRIORITIES
from cliffwatch_service.access.authorisation import may_cancel
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.http.cursors import cursor_of, moment, read_cursor
from cliffwatch_service.http.streaming import ENDED, event_stream, sanitise_event
from cliffwatch_service.jobs.cancelling import cancel, retry
from cliffwatch_service.jobs.estimates import estimate_jobs
from cliffwatch_service.jobs.leases import expire
from cliffwatch_service.jobs.requests import request_named, setup_of
from cliffwatch_service.refusal import not_found
from cliffwatch_service.store import boots
from cliffwatch_service.store.work import queue
from cliffwatch_service.store.work.queue import EventRow
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere, Visitor, require_form_token

router = APIRouter()

_PAGE = 50
_EVENTS = 1000
_FIRST_EVENTS = 200
"""Events from the start of a job. A long job shows only its last events; the first name its early phases."""

_LINE = re.compile(r"\[(?P<elapsed>[^\]]++)\]\s*+(?P<phase>[a-z][a-z ]*+)(?:: (?P<detail>.*+))?")
_SHARE = re.compile(r"\b(\d{1,3})\s?%")


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a run, as its last line reports it."""

    name: str
    detail: str
    elapsed: str
    share: int | None
    """Progress in percent, 0 to 100; None if the line has none."""


@router.get("/queue")
def show_queue(request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    now = service.now()
    with service.transaction() as connection:
        expire(connection, now)
        jobs = queue.queue_of(connection, 500)
        expected = estimate_jobs(connection, jobs, now)
        recent = queue.list_jobs(connection, state=None, at=None, number=None, limit=20)
    return page(
        request,
        visitor,
        "work/queue.html",
        jobs=sorted(jobs, key=lambda job: job.state == "queued"),
        expected=expected,
        priorities=PRIORITIES,
        recent=[job for job in recent if job.state in ENDED],
    )


@router.get("/jobs")
def list_jobs(
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    state: Annotated[str, Query(pattern="^(queued|leased|done|failed|cancelled|parked|)$")] = "",
    cursor: Annotated[str | None, Query(max_length=300)] = None,
) -> Response:
    at, number = read_cursor(cursor, moment, UUID)
    with service.transaction() as connection:
        rows = queue.list_jobs(connection, state=state or None, at=at, number=number, limit=_PAGE + 1)
    following = cursor_of(rows[_PAGE - 1].created, rows[_PAGE - 1].id) if len(rows) > _PAGE else None
    return page(request, visitor, "work/jobs.html", rows=rows[:_PAGE], following=following, state=state)


@router.get("/requests/{request_id}")
def show_request(request_id: UUID, request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    now = service.now()
    with service.transaction() as connection:
        row = request_named(connection, request_id)
        jobs = queue.jobs_of_request(connection, request_id)
        expected = estimate_jobs(connection, queue.queue_of(connection, 1000), now)
    return page(
        request,
        visitor,
        "work/request.html",
        asked=row,
        setup=setup_of(row.setup),
        jobs=jobs,
        expected=expected,
        priority=PRIORITIES[row.priority],
    )


@router.get("/jobs/{job}")
def show_job(job: UUID, request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    now = service.now()
    with service.transaction() as connection:
        row = queue.job_row(connection, job)
        if row is None:
            raise not_found("job", str(job))
        first = [sanitise_event(row) for row in queue.events_after(connection, job, 0, _FIRST_EVENTS)]
        events = [sanitise_event(row) for row in queue.last_events(connection, job, _EVENTS)]
        expected = estimate_jobs(connection, queue.queue_of(connection, 1000), now).get(job)
        stored_boots = boots.boots_of(connection, row.run_id) if row.run_id is not None else []
    template = "work/job_live.html" if request.headers.get("hx-request") else "work/job.html"
    return page(
        request,
        visitor,
        template,
        job=row,
        setup=setup_of(row.setup),
        events=events,
        expected=expected,
        boots=stored_boots,
        phases=phases([*first, *events]),
        ended=row.state in ENDED,
        priority=PRIORITIES[row.priority],
        may_cancel=may_cancel(visitor.caller, row.asked_by),
    )


def phases(events: Sequence[EventRow]) -> list[Phase]:
    """Returns the phases of a run in order of their first line. Each has the text of its last line."""
    by_name: dict[str, Phase] = {}
    for event in events:
        line = _LINE.fullmatch(str(event.data.get("text", ""))) if event.kind == "line" else None
        if line is None:
            continue
        detail = line["detail"] or ""
        share = _SHARE.search(detail)
        by_name[line["phase"]] = Phase(
            line["phase"], detail, line["elapsed"].strip(), min(100, int(share[1])) if share else None
        )
    return list(by_name.values())


@router.get("/jobs/{job}/stream")
async def stream_job(
    job: UUID,
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,  # noqa: ARG001 - checks the right to read
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=30)] = None,
) -> StreamingResponse:
    """Streams a job's events to its page."""
    return await event_stream(request, service, job, last)


@router.post("/jobs/{job}/cancel")
def cancel_job(
    job: UUID, service: ServiceHere, visitor: Annotated[Visitor, require_form_token()]
) -> Response:
    with service.transaction() as connection:
        cancel(connection, job, by=visitor.caller, now=service.now())
    return RedirectResponse(f"/jobs/{job}", 303)


@router.post("/jobs/{job}/retry")
def retry_job(job: UUID, service: ServiceHere, visitor: Annotated[Visitor, require_form_token()]) -> Response:
    with service.transaction() as connection:
        retry(connection, job, who=visitor.caller.name, now=service.now())
    return RedirectResponse(f"/jobs/{job}", 303)
