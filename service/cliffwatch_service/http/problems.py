"""Turns failures of requests into responses: problem documents (RFC 9457) for programs, pages for people."""

import re
from collections.abc import Callable
from typing import Any

import orjson
import psycopg
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from procrastinate.exceptions import ConnectorException
from psycopg_pool import PoolTimeout, TooManyRequests
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from cliffwatch.formats.reading import message_in_words
from cliffwatch.formats.values import FreeJson
from cliffwatch_service.refusal import Refusal

_NO_NAME = re.compile(r"[^a-z0-9]+")
MEDIA_TYPE = "application/problem+json"
_log = structlog.get_logger("cliffwatch")


class ProblemError(BaseModel):
    """A part of a request and what is wrong with it."""

    where: str
    message: str


class ProblemDocument(BaseModel):
    """A problem document. `detail` says what is wrong and what to do; some kinds carry more members."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | None = None


def problem_response(refusal: Refusal) -> Response:
    content: FreeJson = {
        "type": "urn:cliffwatch:problem:" + _NO_NAME.sub("-", refusal.title.lower()).strip("-"),
        "title": refusal.title,
        "status": refusal.status,
        "detail": refusal.detail,
        **refusal.more,
    }
    if refusal.errors:
        content["errors"] = [{"where": where, "message": message} for where, message in refusal.errors]
    again = {"Retry-After": str(refusal.more.get("retry_after", 5))}
    headers = {401: {"WWW-Authenticate": "Bearer"}, 429: again, 503: again}
    body = orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS)
    return Response(body, refusal.status, headers=headers.get(refusal.status), media_type=MEDIA_TYPE)


Answering = Callable[[Request, Refusal], Response]


def install(app: FastAPI, answer: Answering) -> None:
    """Answers every exception as a refusal. Unforeseen exceptions are logged and answered with status 500."""

    def answering(refusal_of: Callable[[Request, Any], Refusal]) -> Callable[[Request, Exception], Response]:
        def handle(request: Request, error: Exception) -> Response:
            response = answer(request, refusal_of(request, error))
            response.headers.update(getattr(error, "headers", None) or {})
            return response

        return handle

    app.add_exception_handler(Refusal, answering(lambda _, error: error))
    app.add_exception_handler(RequestValidationError, answering(lambda _, error: invalid(error.errors())))
    app.add_exception_handler(HTTPException, answering(_http))
    app.add_exception_handler(psycopg.DataError, answering(_unstorable))
    for kind in (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, TooManyRequests):
        app.add_exception_handler(kind, answering(_database_away))
    app.add_exception_handler(ConnectorException, answering(_of_tasks))
    app.add_exception_handler(psycopg.errors.QueryCanceled, answering(_too_long))
    app.add_exception_handler(Exception, answering(_unforeseen))


def invalid(errors: Any) -> Refusal:
    """Makes a refusal of pydantic's errors: the first 20, each with its path. Does not repeat the input."""
    faults = [
        (".".join(map(str, each["loc"]))[:200], message_in_words(str(each["msg"]))[:300]) for each in errors
    ]
    where, message = faults[0]
    detail = f"{where}: {message}" + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else "")
    return Refusal(422, "invalid request", detail, errors=faults[:20])


def _http(request: Request, error: HTTPException) -> Refusal:
    known = {404: "there is nothing at this address", 405: f"this address does not support {request.method}"}
    return Refusal(error.status_code, str(error.detail), known.get(error.status_code, str(error.detail)))


def _unstorable(_: Request, error: Exception) -> Refusal:
    """A value that passed our checks but that PostgreSQL cannot store, such as a NUL in a URL."""
    return Refusal(422, "invalid request", f"a value cannot be stored: {str(error).splitlines()[0][:200]}")


def _database_away(_: Request, error: Exception) -> Refusal:
    _log.error("database away", reason=str(error)[:500])
    return Refusal(
        503,
        "database away",
        "the database is not reachable and nothing was stored: send the request again later",
    )


def _of_tasks(request: Request, error: Exception) -> Refusal:
    """Unwraps the driver's exception that procrastinate wraps."""
    cause = error.__cause__
    if isinstance(cause, psycopg.errors.QueryCanceled):
        return _too_long(request, cause)
    if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
        return _database_away(request, cause)
    return _unforeseen(request, error)


def _too_long(_: Request, error: Exception) -> Refusal:
    _log.error("query too long", reason=str(error)[:500])
    return Refusal(503, "took too long", "the query took too long and was stopped: request less at once")


def _unforeseen(request: Request, error: Exception) -> Refusal:
    _log.exception("unforeseen", path=request.url.path, exc_info=error)
    return Refusal(
        500, "unforeseen", "the service failed: its log has the reason under this request's X-Request-Id"
    )
