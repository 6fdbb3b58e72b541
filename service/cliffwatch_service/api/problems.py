"""Errors as problem documents (RFC 9457)."""

import re
from typing import Any

import orjson
import psycopg
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from psycopg_pool import PoolTimeout, TooManyRequests
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from cliffwatch_service.refusal import Refusal

MEDIA_TYPE = "application/problem+json"
_log = structlog.get_logger("cliffwatch")


class ProblemError(BaseModel):
    """One place of a request and what is wrong there."""

    where: str
    message: str


class Problem(BaseModel):
    """A problem document. `detail` says what is wrong and what to do; some kinds carry more members."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | None = None


def problem_response(refusal: Refusal) -> Response:
    content: dict[str, Any] = {
        "type": "urn:cliffwatch:problem:" + re.sub(r"[^a-z0-9]+", "-", refusal.title.lower()).strip("-"),
        "title": refusal.title,
        "status": refusal.status,
        "detail": refusal.detail,
        **refusal.more,
    }
    if refusal.errors:
        content["errors"] = [{"where": where, "message": message} for where, message in refusal.errors]
    headers = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "5"}, 503: {"Retry-After": "5"}}
    body = orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS)
    return Response(body, refusal.status, headers=headers.get(refusal.status), media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Every failure of a request becomes a problem document; what nobody foresaw is logged and says so."""
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(psycopg.DataError, _unstorable)
    for kind in (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, TooManyRequests):
        app.add_exception_handler(kind, _database_away)
    app.add_exception_handler(psycopg.errors.QueryCanceled, _too_long)
    app.add_exception_handler(Exception, _unforeseen)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return problem_response(error)


def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problem_response(invalid(error.errors()))


def invalid(errors: Any) -> Refusal:
    """Of pydantic's errors: the first ones, each with its place; what was sent is not sent back."""
    found = [(".".join(map(str, each["loc"]))[:200], str(each["msg"])[:300]) for each in errors]
    where, message = found[0]
    detail = f"{where}: {message}" + (f" (and {len(found) - 1} more)" if len(found) > 1 else "")
    return Refusal(422, "invalid request", detail, errors=found[:20])


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = {404: "there is nothing at this address", 405: f"{request.method} is not possible here"}
    detail = known.get(error.status_code, str(error.detail))
    response = problem_response(Refusal(error.status_code, str(error.detail), detail))
    response.headers.update(error.headers or {})
    return response


def _unstorable(_: Request, error: Exception) -> Response:
    """What passed our checks and is none of PostgreSQL's values all the same, such as a NUL in an address."""
    return problem_response(
        Refusal(422, "invalid request", f"a value cannot be stored: {str(error).splitlines()[0][:200]}")
    )


def _database_away(_: Request, error: Exception) -> Response:
    _log.error("database away", reason=str(error)[:500])
    return problem_response(
        Refusal(
            503, "database away", "the service cannot reach its database now; nothing was stored: send it again later"
        )
    )


def _too_long(_: Request, error: Exception) -> Response:
    _log.error("query too long", reason=str(error)[:500])
    return problem_response(
        Refusal(503, "took too long", "the answer took too long and was given up: ask for less at once")
    )


def _unforeseen(request: Request, error: Exception) -> Response:
    _log.exception("unforeseen", path=request.url.path, exc_info=error)
    return problem_response(
        Refusal(500, "unforeseen", "the service failed here; its log says why under this request's id")
    )
