"""Assembles the site: its routers and its error pages."""

import psycopg
from fastapi import FastAPI, Request
from fastapi.responses import Response
from psycopg_pool import PoolTimeout

from cliffwatch_service.access.tokens import NOBODY
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.web import documents, home, search, suites
from cliffwatch_service.web.compare import choose, platforms
from cliffwatch_service.web.compare import page as compare
from cliffwatch_service.web.history import badge, branches, heat, images, regressions, series, subscriptions
from cliffwatch_service.web.layout import assets, github_sign_in, sign_in
from cliffwatch_service.web.layout.render import compile_templates, page
from cliffwatch_service.web.layout.session import Visitor, visitor_of
from cliffwatch_service.web.work import hosts, jobs, measure, requests, runs

# `compare` comes before `choose`, whose route /compare/{rest:path} matches all remaining paths, and `images`
# before the pages whose addresses its own begin with.
_PARTS = (
    assets,
    home,
    compare,
    choose,
    platforms,
    images,
    series,
    regressions,
    branches,
    heat,
    badge,
    subscriptions,
    runs,
    search,
    measure,
    jobs,
    hosts,
    suites,
    documents,
    requests,
    sign_in,
    github_sign_in,
)


def install(app: FastAPI) -> None:
    compile_templates()
    for part in _PARTS:
        app.include_router(part.router, include_in_schema=False)


def refusal_page(request: Request, refusal: Refusal) -> Response:
    """Renders an error page: what is wrong and what to do."""
    visitor = _visitor(request)
    headers = {"Retry-After": "5"} if refusal.status in (429, 503) else {}
    template = "layout/refused_part.html" if request.headers.get("hx-request") else "layout/refused.html"
    return page(request, visitor, template, status=refusal.status, headers=headers, refusal=refusal)


def _visitor(request: Request) -> Visitor:
    """Returns the visitor of a failed request.

    If the request failed before the visitor was known, the session cookie decides.
    """
    known: Visitor | None = getattr(request.state, "visitor", None)
    if known is not None:
        return known
    try:
        return visitor_of(request, request.app.state.service)
    except (Refusal, psycopg.Error, PoolTimeout):
        return Visitor(NOBODY)
