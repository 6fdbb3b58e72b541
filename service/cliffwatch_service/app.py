"""The HTTP application, put together: the API for programs, the pages for people."""

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

import cliffwatch
from cliffwatch_service import api
from cliffwatch_service.api import documents, operations
from cliffwatch_service.http import problems
from cliffwatch_service.http.bodies import BodyLimits
from cliffwatch_service.http.context import Service
from cliffwatch_service.http.logging import RequestLog
from cliffwatch_service.http.problems import MEDIA_TYPE, Problem
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.web import site

PREFIX = "/api/v1"
_LARGE = ("/api/v1/runs/", "/api/v1/imports")
_FOR_PROGRAMS = (f"{PREFIX}/", *operations.PATHS)


def create_app(service: Service) -> FastAPI:
    app = FastAPI(
        title="Cliffwatch",
        version=cliffwatch.__version__,
        summary="Continuous benchmarking for the Linux BPF subsystem",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses={"default": {"model": Problem, "content": {MEDIA_TYPE: {}}, "description": "A problem document"}},
    )
    app.state.service = service
    programs = APIRouter(prefix=PREFIX)
    for router in api.routers():
        programs.include_router(router)
    app.include_router(programs)
    app.include_router(operations.router)
    site.install(app)
    problems.install(app, _refused)
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=1)
    app.add_middleware(
        BodyLimits, largest=service.settings.largest_body_bytes, large=lambda path: path.startswith(_LARGE)
    )
    app.add_middleware(RequestLog, now=service.now)
    described = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = described()
            schema.setdefault("components", {}).setdefault("schemas", {}).update(documents.schemas())
        return described()

    app.openapi = openapi  # type: ignore[method-assign]
    return app


def _refused(request: Request, refusal: Refusal) -> Response:
    if request.url.path.startswith(_FOR_PROGRAMS):
        return problems.problem_response(refusal)
    return site.refused(request, refusal)
