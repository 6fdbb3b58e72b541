"""Endpoints for tokens, background tasks and the audit log, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from cliffwatch_service.access.tokens import Scope, make_token
from cliffwatch_service.api.answers import answer, page, take
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.api.models.work import Token, TokenMade, TokenRevoked
from cliffwatch_service.http.context import PREFIX, Allowed, Cursor, Limit, ServiceHere
from cliffwatch_service.http.cursors import cursor_of, identity, read_cursor
from cliffwatch_service.ingest.free_form import Moment
from cliffwatch_service.ingest.request_fields import Name
from cliffwatch_service.refusal import not_found
from cliffwatch_service.store import background, tokens

router = APIRouter(prefix=PREFIX, tags=["administration"])


class TokenBody(BaseModel):
    """A token to make. `host` is the only host that may use it; null if any may."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=5)]
    host: Name | None = None
    expires: Moment | None = None


@router.post(
    "/tokens",
    summary="Make a token; only this response has its secret",
    status_code=201,
    responses={200: {"model": TokenMade}, 201: {"model": TokenMade}},
)
def new_token(body: TokenBody, request: Request, service: ServiceHere, caller: Allowed) -> Response:
    with service.transaction() as connection:
        secret = make_token(
            connection,
            body.name,
            body.scopes,
            by=caller.name,
            now=service.now(),
            host=body.host,
            expires=body.expires,
        )
    response = answer(request, {"name": body.name, "secret": secret}, status=201)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.get("/tokens", summary="Tokens, without their secrets", responses={200: {"model": Page[Token]}})
def list_tokens(request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        rows = tokens.list_tokens(connection)
    return answer(request, {"items": [take(Token, row) for row in rows], "next": None})


@router.delete(
    "/tokens/{name:path}", summary="Revoke a token immediately", responses={200: {"model": TokenRevoked}}
)
def revoke(
    name: Annotated[str, Path(max_length=200)], request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    now = service.now()
    with service.transaction() as connection:
        if not tokens.revoke_token(connection, name, now):
            raise not_found("token", name)
        tokens.write_audit(connection, who=caller.name, action="revoke-token", what=name, detail={}, now=now)
    return answer(request, {"name": name, "revoked": True})


@router.get(
    "/tasks",
    summary="Background tasks and their states, newest first",
    responses={200: {"model": Page[background.TaskRow]}},
)
def list_tasks(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    status: Annotated[str | None, Query(pattern="^(todo|doing|succeeded|failed|cancelled|aborted)$")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    (before,) = read_cursor(cursor, identity)
    with service.transaction() as connection:
        rows = background.list_tasks(connection, status=status, before=before, limit=limit + 1)
    return answer(request, page(rows, limit, lambda row: cursor_of(row.id), lambda row: row))


@router.get(
    "/audit",
    summary="Audit log of operations under tokens, newest first",
    responses={200: {"model": Page[tokens.AuditRow]}},
)
def list_audit(
    request: Request,
    service: ServiceHere,
    _: Allowed,
    limit: Limit = 100,
    cursor: Annotated[Cursor, Query()] = None,
) -> Response:
    (before,) = read_cursor(cursor, identity)
    with service.transaction() as connection:
        rows = tokens.list_audit(connection, before, limit + 1)
    return answer(request, page(rows, limit, lambda row: cursor_of(row.id), lambda row: row))
