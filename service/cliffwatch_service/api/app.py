"""The HTTP application, put together."""

from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware

import cliffwatch
from cliffwatch_service.api import (
    comparisons,
    exchange,
    follows,
    hosts,
    operations,
    problems,
    reports,
    requests,
    runs,
    series,
    suites,
    tokens,
)
from cliffwatch_service.api.bodies import BodyLimits
from cliffwatch_service.api.context import Service
from cliffwatch_service.api.documents import schemas
from cliffwatch_service.api.logging import RequestLog
from cliffwatch_service.api.problems import MEDIA_TYPE, Problem

PREFIX = "/api/v1"
_LARGE = ("/api/v1/runs/", "/api/v1/imports")


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
    api = APIRouter(prefix=PREFIX)
    for part in (runs, comparisons, series, reports, suites, exchange, requests, hosts, follows, tokens):
        api.include_router(part.router)
    app.include_router(api)
    app.include_router(operations.router)
    problems.install(app)
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=1)
    app.add_middleware(
        BodyLimits, largest=service.settings.largest_body_bytes, large=lambda path: path.startswith(_LARGE)
    )
    app.add_middleware(RequestLog, now=service.now)
    described = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = described()
            schema.setdefault("components", {}).setdefault("schemas", {}).update(schemas())
        return described()

    app.openapi = openapi  # type: ignore[method-assign]
    return app
