"""Endpoints for runs: uploading them boot by boot, and reading them back."""

from functools import partial
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from cliffwatch.formats.code.differences import CodeRecord
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.uploads import BootUpload, RunUpload
from cliffwatch.formats.values import MOST_BOOTS
from cliffwatch_service.access.authorisation import refuse_host_name
from cliffwatch_service.access.quotas import refuse_run_over_quota, within_quota
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.api.answers import JSON, answer, answer_bytes, answer_pieces, page, take
from cliffwatch_service.api.documents import body_of, document_response, parse_document, request_body
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.api.models.results import RawListed, RunArm, RunListed, RunWhole, StoredAnswer
from cliffwatch_service.compare.naming import find_revision
from cliffwatch_service.http.bodies import Body as ReceivedBody
from cliffwatch_service.http.context import (
    PREFIX,
    Allowed,
    Cursor,
    Limit,
    ModeName,
    PlatformName,
    Service,
    ServiceHere,
)
from cliffwatch_service.http.cursors import cursor_of, identity, moment, read_cursor
from cliffwatch_service.http.large import LargeHere
from cliffwatch_service.ingest.boot_document import unpacked_size, upload_of
from cliffwatch_service.ingest.columns import keys_of
from cliffwatch_service.ingest.ingest import StoreResult, put_boot, put_run
from cliffwatch_service.ingest.kernel_code import code_document, put_code
from cliffwatch_service.ingest.raw_outputs.storing import put_raw, raw_file
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.ingest.uploads import boot_upload, code_upload, run_upload
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import boots, runs
from cliffwatch_service.store.runs import RunListedRow, RunsWanted

router = APIRouter(prefix=PREFIX, tags=["runs"])

RunId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The run's identity")]
BootNumber = Annotated[int, Path(ge=1, le=MOST_BOOTS, description="The boot's number in the plan")]
Body = Annotated[bytes, Depends(body_of)]


def _stored_response(request: Request, stored: StoreResult) -> Response:
    content = {"digest": stored.digest, "fresh": stored.fresh}
    return answer(request, content, status=201 if stored.fresh else 200)


@router.put(
    "/runs/{run}",
    summary="Upload run.json, or a newer version of it",
    openapi_extra=request_body(RunUpload),
    responses={200: {"model": StoredAnswer}, 201: {"model": StoredAnswer}},
)
async def upload_run(
    run: RunId, request: Request, body: Body, service: ServiceHere, large: LargeHere, caller: Allowed
) -> Response:
    return _stored_response(request, await large.do(service, len(body), _keep_run, caller, run, body))


def _keep_run(service: Service, caller: Caller, run: str, body: bytes) -> StoreResult:
    raw, upload = parse_document(run_upload, body)
    now = service.now()
    with service.transaction() as connection:
        refuse_host_name(connection, caller, upload.host, now)
        refuse_run_over_quota(connection, service.settings, caller, run, now)
        keep = partial(put_run, connection, run, upload, raw["record"], by=caller, now=now)
        return within_quota(connection, service.settings, caller, len(body), now, keep)


@router.put(
    "/runs/{run}/boots/{number}",
    summary="Upload a boot with all its samples",
    openapi_extra=request_body(BootUpload),
    responses={200: {"model": StoredAnswer}, 201: {"model": StoredAnswer}},
)
async def upload_boot(
    run: RunId,
    number: BootNumber,
    request: Request,
    body: Body,
    service: ServiceHere,
    large: LargeHere,
    caller: Allowed,
) -> Response:
    return _stored_response(
        request, await large.do(service, len(body), _keep_boot, caller, run, number, body)
    )


def _keep_boot(service: Service, caller: Caller, run: str, number: int, body: bytes) -> StoreResult:
    raw, upload = parse_document(boot_upload, body, typed=frozenset({"samples", "outcomes"}))
    now = service.now()
    with service.transaction() as connection:
        keep = partial(put_boot, connection, service.columns, run, number, upload, raw, by=caller, now=now)
        return within_quota(connection, service.settings, caller, len(body), now, keep)


@router.put(
    "/runs/{run}/boots/{number}/raw",
    summary="Upload a boot's raw outputs as a tar archive",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/x-tar": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
    responses={200: {"model": StoredAnswer}, 201: {"model": StoredAnswer}},
)
def upload_raw(
    run: RunId, number: BootNumber, request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-tar":
        raise Refusal(415, "unknown content type", "send the archive as application/x-tar")
    archive: ReceivedBody = request.state.body
    now = service.now()
    with service.transaction() as connection:
        keep = partial(put_raw, connection, service.columns, run, number, archive.file, by=caller, now=now)
        stored = within_quota(connection, service.settings, caller, archive.size, now, keep)
    return _stored_response(request, stored)


@router.put(
    "/runs/{run}/code",
    summary="Upload code.json: how the code of the run's kernels differs",
    openapi_extra=request_body(CodeRecord),
    responses={200: {"model": StoredAnswer}, 201: {"model": StoredAnswer}},
)
async def upload_code(
    run: RunId, request: Request, body: Body, service: ServiceHere, large: LargeHere, caller: Allowed
) -> Response:
    return _stored_response(request, await large.do(service, len(body), _keep_code, caller, run, body))


def _keep_code(service: Service, caller: Caller, run: str, body: bytes) -> StoreResult:
    _, upload = parse_document(code_upload, body)
    now = service.now()
    with service.transaction() as connection:
        keep = partial(put_code, connection, run, upload, by=caller)
        return within_quota(connection, service.settings, caller, len(body), now, keep)


@router.get("/runs/{run}/code", summary="code.json of a run", responses=document_response(CodeRecord))
def read_code(run: RunId, request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        record = code_document(connection, run)
    if record is None:
        raise not_found("code.json", run)
    return answer(request, as_json(record))


@router.get("/runs", summary="Runs, newest first", responses={200: {"model": Page[RunListed]}})
def list_runs(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    platform: PlatformName = None,
    mode: ModeName = None,
    revision: Annotated[
        str | None, Query(max_length=64, description="Only runs that measured this revision")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    at, number = read_cursor(cursor, moment, identity)
    with service.transaction() as connection:
        wanted = RunsWanted(
            platform=platform,
            mode=mode,
            revision=find_revision(connection, revision).id if revision is not None else None,
            at=at,
            number=number,
            limit=limit + 1,
        )
        rows = runs.list_runs(connection, wanted)
    return answer(request, page(rows, limit, lambda row: cursor_of(row.received, row.id), _listed))


def _listed(row: RunListedRow) -> RunListed:
    arms = None if row.arms is None else {name: RunArm(**arm) for name, arm in row.arms.items()}
    return take(RunListed, row, run=row.digest, arms=arms)


@router.get(
    "/runs/{run}", summary="A run: its record and its uploaded boots", responses={200: {"model": RunWhole}}
)
def read_run(run: RunId, request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        row = runs.run_row(connection, run)
        if row is None:
            raise not_found("run", run)
        stored_boots = boots.boots_of(connection, row.id)
    content = {
        "run": run,
        "status": row.status,
        "platform": row.platform,
        "mode": row.mode,
        "created": row.created,
        "received": row.received,
        "record": as_json(stored_record(row)),
        "boots": stored_boots,
    }
    return answer(request, content)


@router.get(
    "/runs/{run}/boots/{number}",
    summary="A boot as it was uploaded",
    responses=document_response(BootUpload, whole=False),
)
async def read_boot(
    run: RunId, number: BootNumber, request: Request, service: ServiceHere, large: LargeHere, _: Allowed
) -> Response:
    size = await run_in_threadpool(_size_of_boot, service, run, number)
    body = await large.do(service, size, _boot, run, number, reads=True)
    return await run_in_threadpool(answer_bytes, request, body, JSON)


def _size_of_boot(service: Service, run: str, number: int) -> int:
    """Returns the bytes of a boot's JSON document. Raises Refusal."""
    with service.transaction() as connection:
        row = runs.run_row(connection, run)
        head = boots.head_of_document(connection, row.id, number) if row is not None else None
    if head is None:
        raise not_found("boot", f"{run}/{number}")
    return unpacked_size(head)


def _boot(service: Service, run: str, number: int) -> bytes:
    with service.transaction() as connection:
        row = runs.run_row(connection, run)
        boot = boots.whole_boot(connection, row.id, number) if row is not None else None
        if boot is None:
            raise not_found("boot", f"{run}/{number}")
        keys = keys_of(connection, [boot.columns_id])[boot.columns_id]
    return orjson.dumps(upload_of(bytes(boot.content), keys, boot.samples), option=orjson.OPT_UTC_Z)


@router.get(
    "/runs/{run}/boots/{number}/raw",
    summary="The raw outputs of a boot: names and sizes",
    responses={200: {"model": RawListed}},
)
def list_raw(run: RunId, number: BootNumber, request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        row = runs.run_row(connection, run)
        about = boots.raw_about(connection, row.id, number) if row is not None else None
    if about is None:
        raise not_found("raw output", f"{run}/{number}")
    return answer(request, about)


@router.get(
    "/runs/{run}/boots/{number}/raw/{path:path}",
    summary="One raw output, as the guest wrote it",
    responses={200: {"content": {"text/plain": {}}}},
    response_class=Response,
)
def read_raw(
    run: RunId,
    number: BootNumber,
    path: Annotated[str, Path(max_length=500)],
    request: Request,
    service: ServiceHere,
    _: Allowed,
) -> Response:
    file = raw_file(service.transaction, run, number, path)
    response = answer_pieces(
        request, file.pieces, "text/plain; charset=utf-8", tag=file.digest, size=file.size
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox"
    return response
