"""Logs one line per request. Every log line about a request has its id, and the client gets it too.

The request's own line says who sent it: client address, name of the token (never the token), and the host
that the token is bound to.
"""

import secrets
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import structlog
from prometheus_client import Counter, Histogram
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.http.addresses import client_of

REQUESTS = Counter("cliffwatch_requests", "Requests answered", ["method", "route", "status"])
SECONDS = Histogram(
    "cliffwatch_request_seconds",
    "Time to answer",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10),
)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Methods counted by name. Others are counted together: a client could invent any number of them."""

_log = structlog.get_logger("cliffwatch.http")


def name_in_log(request: Request, caller: Caller) -> None:
    """Has the log line of a request name the caller."""
    request.state.logged_caller = caller


class RequestLog:
    """ASGI middleware that logs and counts requests and sets the header X-Request-Id."""

    def __init__(self, app: ASGIApp, *, now: Callable[[], datetime]) -> None:
        self._app, self._now = app, now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        status = 500
        began = time.perf_counter()

        async def send_logged(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        with structlog.contextvars.bound_contextvars(request=request_id, client=client_of(scope)):
            try:
                await self._app(scope, receive, send_logged)
            finally:
                self._log_request(scope, status, time.perf_counter() - began)

    def _log_request(self, scope: Scope, status: int, seconds: float) -> None:
        route: Any = scope.get("route")
        path = getattr(route, "path", "none")
        method = scope["method"] if scope["method"] in METHODS else "other"
        REQUESTS.labels(method, path, str(status)).inc()
        SECONDS.labels(method, path).observe(seconds)
        _log.info(
            "answered",
            method=scope["method"],
            path=scope["path"],
            status=status,
            milliseconds=round(seconds * 1000, 1),
            **_caller_fields(scope),
        )


def _caller_fields(scope: Scope) -> dict[str, str]:
    """`token` and `host` of the caller, as far as it has them."""
    caller: Caller | None = scope.get("state", {}).get("logged_caller")
    if caller is None:
        return {}
    return {"token": caller.name} | ({} if caller.host is None else {"host": caller.host})
