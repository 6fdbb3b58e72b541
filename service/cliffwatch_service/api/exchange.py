"""Endpoints for import and export."""

import os
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from cliffwatch.formats.values import FreeJson
from cliffwatch.parsers.received.decoding import decode
from cliffwatch.samples import Mode
from cliffwatch_service.access.quotas import refuse_run_over_quota, within_quota
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.api.answers import answer, answer_pieces, not_modified
from cliffwatch_service.api.models.work import Imported
from cliffwatch_service.api.runs import RunId
from cliffwatch_service.compare.export import MEDIA_TYPES, Wanted, describe_export, export_file
from cliffwatch_service.http.addresses import address_of
from cliffwatch_service.http.bodies import body_content
from cliffwatch_service.http.context import PREFIX, Allowed, Service, ServiceHere
from cliffwatch_service.http.large import LARGE_TEXT, LargeHere
from cliffwatch_service.ingest.import_files import ImportDescription, ImportResult, import_file
from cliffwatch_service.ingest.request_fields import LINE

router = APIRouter(prefix=PREFIX, tags=["exchange"])

Form = Annotated[str, Query(alias="format", pattern="^(json|csv|go-bench|parquet|bmf|kcidb)$")]
ArmName = Annotated[
    str | None, Query(max_length=100, description="Only this arm; default: all arms, for bmf only head")
]
Origin = Annotated[str, Query(max_length=100, pattern="^[a-z0-9_]+$", description="The CI system, for kcidb")]
_PIECE = 1 << 16
_CONTENT: FreeJson = {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}


@router.get(
    "/runs/{run}/export",
    summary="A run's samples",
    responses={200: {"content": _CONTENT}},
    response_class=Response,
)
async def read_export(
    run: RunId,
    request: Request,
    service: ServiceHere,
    large: LargeHere,
    _: Allowed,
    form: Form = "json",
    arm: ArmName = None,
    origin: Origin = "cliffwatch",
) -> Response:
    wanted = Wanted(form, arm, origin)
    known = await run_in_threadpool(describe_export, service.transaction, run, wanted)
    has = not_modified(request, known.tag)
    if has is not None:
        return has
    who = address_of(request.scope)
    service.exports.take(who, 1)
    try:
        path = await large.export(service, known.size, _export, run, wanted)
        file = await run_in_threadpool(_open_unlinked, path)
    except BaseException:
        service.exports.give_back(who, 1)
        raise
    return answer_pieces(
        request,
        iter(partial(file.read, _PIECE), b""),
        MEDIA_TYPES[form],
        tag=known.tag,
        size=os.fstat(file.fileno()).st_size,
        ended=partial(_end, service, who, file),
    )


def _export(service: Service, run: str, wanted: Wanted) -> Path:
    return export_file(service.transaction, service.settings.data_dir, run, wanted)


def _open_unlinked(path: Path) -> IO[bytes]:
    """Opens a file and removes its name, so that closing it frees the space."""
    file = path.open("rb")
    path.unlink()
    return file


def _end(service: Service, who: str, file: IO[bytes]) -> None:
    file.close()
    service.exports.give_back(who, 1)


@router.post(
    "/imports",
    summary="Import bench output, Go benchmark format, our CSV, veristat's CSV or Bencher Metric Format",
    status_code=201,
    openapi_extra={
        "requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
    responses={200: {"model": Imported}, 201: {"model": Imported}},
)
async def upload_file(
    request: Request,
    service: ServiceHere,
    large: LargeHere,
    caller: Allowed,
    platform: Annotated[str, Query(min_length=1, max_length=180, pattern=LINE)],
    mode: Mode,
    name: Annotated[str, Query(min_length=1, max_length=200, pattern=LINE, description="A name for people")],
    revision: Annotated[
        str | None, Query(pattern="^[0-9a-f]{40}$", description="The commit that was measured")
    ] = None,
) -> Response:
    about = ImportDescription(name=name, platform=platform, mode=mode, commit=revision)
    body = await body_content(request)
    imported = await large.do(service, len(body), _import, caller, body, about, large=LARGE_TEXT)
    return answer(request, asdict(imported), status=201 if imported.fresh else 200)


def _import(service: Service, caller: Caller, body: bytes, about: ImportDescription) -> ImportResult:
    text = decode(body).replace("\0", "\N{REPLACEMENT CHARACTER}")
    now = service.now()
    with service.transaction() as connection:
        keep = partial(import_file, connection, service.columns, text, about, by=caller, now=now)
        refuse_run_over_quota(connection, service.settings, caller, "", now)
        return within_quota(connection, service.settings, caller, len(body), now, keep)
