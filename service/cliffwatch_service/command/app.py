"""Assembles the HTTP application: the API for programs and the pages for people."""

import re
from functools import partial
from threading import Lock

from fastapi import Depends, FastAPI, Request
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

import cliffwatch
from cliffwatch.formats.values import FreeJson
from cliffwatch_service import api
from cliffwatch_service.api import operations
from cliffwatch_service.api.description.complete import complete
from cliffwatch_service.http import problems
from cliffwatch_service.http.admission import JOB_TOKENS, WEBHOOKS, Admission
from cliffwatch_service.http.bodies import BodyLimits
from cliffwatch_service.http.context import PREFIX, Service
from cliffwatch_service.http.heads import Heads
from cliffwatch_service.http.large import LargeWork
from cliffwatch_service.http.logging import RequestLog
from cliffwatch_service.http.parameters import refuse_unknown_parameters
from cliffwatch_service.http.problems import MEDIA_TYPE, ProblemDocument
from cliffwatch_service.http.room import Room
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.web import site
from cliffwatch_service.web.layout.session import is_signed_in

_UPLOADS = (f"{PREFIX}/runs/", f"{PREFIX}/imports")
_REQUESTS = f"{PREFIX}/requests"
"""A request may carry patches, suites and data files."""

_ARCHIVE = re.compile(rf"{PREFIX}/runs/[^/]+/boots/[^/]+/raw")
_SMALL_BYTES = 1 << 20
_FORM_BYTES = 1 << 16
_WEBHOOK_BYTES = 4 << 20
_IDENTITY_BYTES = 16 << 10
_FOR_PROGRAMS = (f"{PREFIX}/", *operations.PATHS)


def create_app(service: Service, large: LargeWork) -> FastAPI:
    app = FastAPI(
        title="Cliffwatch",
        version=cliffwatch.__version__,
        summary="Continuous benchmarking for the Linux BPF subsystem",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        responses={
            "default": {
                "model": ProblemDocument,
                "content": {MEDIA_TYPE: {}},
                "description": "A problem document",
            }
        },
    )
    app.state.service, app.state.large = service, large
    for router in api.routers():
        app.include_router(router, dependencies=[Depends(refuse_unknown_parameters)])
    app.include_router(operations.router)
    site.install(app)
    problems.install(app, _refused)
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=1)
    settings = service.settings
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    app.add_middleware(
        BodyLimits,
        room=Room(
            "bytes of bodies", whole=4 * settings.largest_body_bytes, each=2 * settings.largest_body_bytes
        ),
        folder=settings.data_dir,
        limit_of=partial(limit_of, settings),
        refused=_refused,
    )
    app.add_middleware(
        Admission,
        service=service,
        for_programs=_FOR_PROGRAMS,
        of_uploads=lambda path: path.startswith(_UPLOADS),
        signed_in=lambda request: is_signed_in(request, service),
        refused=_refused,
    )
    app.add_middleware(Heads, refused=_refused)
    app.add_middleware(RequestLog, now=service.now)
    described, making = app.openapi, Lock()

    def openapi() -> FreeJson:
        with making:
            if app.openapi_schema is None:
                complete(described())
            return described()

    app.openapi = openapi  # type: ignore[method-assign]
    return app


def limit_of(settings: Settings, path: str) -> int:
    """Returns the most bytes that a path's body may have, before and after decompression."""
    if not path.startswith(_FOR_PROGRAMS):
        return _FORM_BYTES
    if path == WEBHOOKS:
        return min(_WEBHOOK_BYTES, settings.largest_body_bytes)
    if path == JOB_TOKENS:
        return _IDENTITY_BYTES
    if _ARCHIVE.fullmatch(path):
        return settings.largest_body_bytes
    largest = (
        settings.largest_document_bytes if path.startswith(_UPLOADS) or path == _REQUESTS else _SMALL_BYTES
    )
    return min(largest, settings.largest_body_bytes)


def _refused(request: Request, refusal: Refusal) -> Response:
    if request.url.path.startswith(_FOR_PROGRAMS):
        return problems.problem_response(refusal)
    return site.refusal_page(request, refusal)
