"""Import and export."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from cliffwatch_service.access import Caller
from cliffwatch_service.api import work_models
from cliffwatch_service.api.answers import answer, answer_bytes
from cliffwatch_service.api.runs import RunId
from cliffwatch_service.exporting import MEDIA_TYPES, export_run
from cliffwatch_service.http.context import Reader, Service, ServiceHere, Uploader
from cliffwatch_service.importing_files import ImportedAs, import_file

router = APIRouter(tags=["exchange"])

Form = Annotated[str, Query(alias="format", pattern="^(json|csv|go-bench|parquet)$")]
_CONTENT: dict[str, Any] = {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}


@router.get(
    "/runs/{run}/export",
    summary="A run's samples",
    responses={200: {"content": _CONTENT}},
    response_class=Response,
)
def read_export(run: RunId, request: Request, service: ServiceHere, _: Reader, form: Form = "json") -> Response:
    with service.transaction() as connection:
        body = export_run(connection, run, form)
    return answer_bytes(request, body, MEDIA_TYPES[form])


@router.post(
    "/imports",
    summary="Take in bench output, Go benchmark format, veristat CSV or Bencher Metric Format",
    status_code=201,
    openapi_extra={"requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}},
    responses={200: {"model": work_models.Imported}, 201: {"model": work_models.Imported}},
)
async def upload_file(
    request: Request,
    service: ServiceHere,
    caller: Uploader,
    platform: Annotated[str, Query(min_length=1, max_length=180)],
    mode: Annotated[str, Query(pattern="^(walltime|icount)$")],
    name: Annotated[str, Query(min_length=1, max_length=200, description="What people call it")],
    revision: Annotated[str | None, Query(pattern="^[0-9a-f]{40}$", description="The commit that was measured")] = None,
) -> Response:
    said = ImportedAs(name=name, platform=platform, mode=mode, commit=revision)
    body = await request.body()
    return await run_in_threadpool(_import, request, service, caller, body, said)


def _import(request: Request, service: Service, caller: Caller, body: bytes, said: ImportedAs) -> Response:
    text = body.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    assert caller.token_id is not None
    with service.transaction() as connection:
        imported = import_file(connection, service.columns, text, said, token_id=caller.token_id, now=service.now())
    return answer(request, asdict(imported), status=201 if imported.fresh else 200)
