"""Endpoints for requests and jobs: requesting measurements and watching their progress."""

from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from psycopg import Connection

from cliffwatch.formats.reading import as_json, convert_to
from cliffwatch.formats.values import FreeJson
from cliffwatch.formats.work import PRIORITIES, AskedFiles, AskedWork
from cliffwatch.parsers.readings import Problem
from cliffwatch_service.access.authorisation import refuse_foreign_request
from cliffwatch_service.access.quotas import within_quota
from cliffwatch_service.api.answers import answer, page, take
from cliffwatch_service.api.documents import body_of, document_response, parse_document, request_body
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.api.models.work import Job, RequestListed, RequestWhole
from cliffwatch_service.http.context import PREFIX, Allowed, Cursor, Limit, Service, ServiceHere
from cliffwatch_service.http.cursors import cursor_of, moment, read_cursor
from cliffwatch_service.http.streaming import event_stream, sanitise_event
from cliffwatch_service.ingest.uploads import invalid_upload
from cliffwatch_service.jobs.cancelling import cancel, retry
from cliffwatch_service.jobs.ends import refuse_ends
from cliffwatch_service.jobs.estimates import Estimate, estimate_jobs
from cliffwatch_service.jobs.leases import expire
from cliffwatch_service.jobs.requests import asked_files, asked_of, request_named, store_request
from cliffwatch_service.jobs.targets import refuse_unoffered, warn_of_offline_targets
from cliffwatch_service.jobs.trees_allowed import refuse_tree
from cliffwatch_service.refusal import not_found
from cliffwatch_service.store.work import queue, requests
from cliffwatch_service.store.work.queue import JobRow
from cliffwatch_service.store.work.requests import RequestRow

router = APIRouter(prefix=PREFIX, tags=["jobs"])


@router.post(
    "/requests",
    summary="Request measurements",
    status_code=201,
    openapi_extra=request_body(AskedWork),
    responses={200: {"model": RequestWhole}, 201: {"model": RequestWhole}},
)
def make_request(
    body: Annotated[bytes, Depends(body_of)],
    request: Request,
    service: ServiceHere,
    caller: Allowed,
    key: Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=200)],
) -> Response:
    _, work = parse_document(_work, body, typed=frozenset({"contents"}))
    asked, now = asked_of(work), service.now()
    assert caller.token_id is not None
    with service.transaction() as connection:
        refuse_tree(connection, asked.tree, service.settings.trees)
        if not asked.setup.arms:
            refuse_ends(connection, asked.base, asked.head)
        keep = partial(
            store_request, connection, asked, key=key, token_id=caller.token_id, who=caller.name, now=now
        )
        row, fresh = within_quota(connection, service.settings, caller, len(body), now, keep)
        if fresh:
            refuse_unoffered(connection, asked.targets, asked.needs)
        content = _request(connection, service, row)
    return answer(request, content, status=201 if fresh else 200)


def _work(raw: FreeJson) -> AskedWork:
    work = convert_to(raw, AskedWork)
    if isinstance(work, Problem):
        raise invalid_upload(work)
    return work


def _request(connection: Connection[Any], service: Service, row: RequestRow) -> RequestWhole:
    jobs = queue.jobs_of_request(connection, row.id)
    waiting = queue.queue_of(connection, 1000)
    expected = estimate_jobs(connection, waiting, service.now())
    queued = [(job.platform, job.mode) for job in jobs if job.state == "queued"]
    return RequestWhole(
        **dict(_listed(row)),
        jobs=[_job(job, expected.get(job.id)) for job in jobs],
        warnings=warn_of_offline_targets(connection, queued, service.now()),
    )


def _listed(row: RequestRow) -> RequestListed:
    return take(
        RequestListed,
        row,
        request=str(row.id),
        asked_by=row.asked_by_name,
        priority=PRIORITIES[row.priority],
        base=row.base_commit,
        head=row.head_commit,
    )


def _job(row: JobRow, expected: Estimate | None = None) -> Job:
    return take(
        Job,
        row,
        job=str(row.id),
        request=str(row.request_id),
        priority=PRIORITIES[row.priority],
        base=row.base_commit,
        head=row.head_commit,
        expected=expected,
    )


@router.get("/requests", summary="Requests, newest first", responses={200: {"model": Page[RequestListed]}})
def list_requests(
    request: Request, service: ServiceHere, _: Allowed, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    at, number = read_cursor(cursor, moment, UUID)
    with service.transaction() as connection:
        rows = requests.list_requests(connection, at=at, number=number, limit=limit + 1)
    return answer(request, page(rows, limit, lambda row: cursor_of(row.created, row.id), _listed))


@router.get(
    "/requests/{request_id}", summary="A request and its jobs", responses={200: {"model": RequestWhole}}
)
def read_request(request_id: UUID, request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        content = _request(connection, service, request_named(connection, request_id))
    return answer(request, content)


@router.get(
    "/requests/{request_id}/files",
    summary="Files of a request: patches, configuration, suites, data",
    responses=document_response(AskedFiles),
)
def read_request_files(request_id: UUID, request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        files = asked_files(connection, request_named(connection, request_id).id)
    return answer(request, as_json(files))


@router.post(
    "/requests/{request_id}/cancel",
    summary="Cancel every job of a request",
    responses={200: {"model": RequestWhole}},
)
def cancel_request(request_id: UUID, request: Request, service: ServiceHere, caller: Allowed) -> Response:
    with service.transaction() as connection:
        row = request_named(connection, request_id)
        refuse_foreign_request(caller, row.asked_by)
        for job in queue.jobs_of_request(connection, request_id):
            cancel(connection, job.id, by=caller, now=service.now())
        content = _request(connection, service, row)
    return answer(request, content)


@router.get(
    "/queue",
    summary="Waiting and running jobs in order, with estimates",
    responses={200: {"model": Page[Job]}},
)
def read_queue(request: Request, service: ServiceHere, _: Allowed) -> Response:
    now = service.now()
    with service.transaction() as connection:
        expire(connection, now)
        jobs = queue.queue_of(connection, 1000)
        expected = estimate_jobs(connection, jobs, now)
    return answer(request, {"items": [_job(job, expected[job.id]) for job in jobs], "next": None})


@router.get("/jobs", summary="Jobs, newest first", responses={200: {"model": Page[Job]}})
def list_jobs(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    state: Annotated[str | None, Query(pattern="^(queued|leased|done|failed|cancelled|parked)$")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    at, number = read_cursor(cursor, moment, UUID)
    with service.transaction() as connection:
        rows = queue.list_jobs(connection, state=state, at=at, number=number, limit=limit + 1)
    return answer(request, page(rows, limit, lambda row: cursor_of(row.created, row.id), _job))


@router.get("/jobs/{job}", summary="One job", responses={200: {"model": Job}})
def read_job(job: UUID, request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        content = _job_named(connection, job)
    return answer(request, content)


def _job_named(connection: Connection[Any], job: UUID) -> Job:
    row = queue.job_row(connection, job)
    if row is None:
        raise not_found("job", str(job))
    return _job(row)


@router.post("/jobs/{job}/cancel", summary="Cancel a job", responses={200: {"model": Job}})
def cancel_job(job: UUID, request: Request, service: ServiceHere, caller: Allowed) -> Response:
    with service.transaction() as connection:
        cancel(connection, job, by=caller, now=service.now())
        content = _job_named(connection, job)
    return answer(request, content)


@router.post(
    "/jobs/{job}/retry",
    summary="Retry a parked, failed or cancelled job",
    responses={200: {"model": Job}},
)
def retry_job(job: UUID, request: Request, service: ServiceHere, caller: Allowed) -> Response:
    with service.transaction() as connection:
        retry(connection, job, who=caller.name, now=service.now())
        content = _job_named(connection, job)
    return answer(request, content)


@router.get(
    "/jobs/{job}/events",
    summary="Events of a job, from the first or after a given event",
    responses={200: {"model": Page[queue.EventRow]}},
)
def read_events(
    job: UUID,
    request: Request,
    service: ServiceHere,
    _: Allowed,
    after: Annotated[int, Query(ge=0, lt=2**63)] = 0,
    limit: Limit = 1000,
) -> Response:
    with service.transaction() as connection:
        _job_named(connection, job)
        events = queue.events_after(connection, job, after, limit + 1)
    return answer(request, page(events, limit, lambda row: cursor_of(row.id), sanitise_event))


@router.get(
    "/jobs/{job}/stream",
    summary="Events of a job as server-sent events, until it ends",
    responses={200: {"content": {"text/event-stream": {}}}},
    response_class=StreamingResponse,
)
async def stream_events(
    job: UUID,
    request: Request,
    service: ServiceHere,
    _: Allowed,
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=30)] = None,
) -> StreamingResponse:
    return await event_stream(request, service, job, last)
