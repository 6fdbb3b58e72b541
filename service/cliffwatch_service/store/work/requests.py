"""Requests: what people and pushes ask for."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection

from cliffwatch_service.postgres.rows import typed


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRequest:
    """What somebody asks; `boots` is `auto`, `staged`, `careful` or a number, `priority` counts from 0, which goes first."""

    id: UUID
    idempotency_key: str
    asked_by: int
    body_digest: str
    tree: str
    base_commit: str
    head_commit: str
    suites: list[str]
    profile: str
    boots: str
    priority: int
    note: str
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """A request; `asked_by_name` is the name of the token that asked."""

    id: UUID
    asked_by: int
    asked_by_name: str
    body_digest: str
    tree: str
    base_commit: str
    head_commit: str
    suites: list[str]
    profile: str
    boots: str
    priority: int
    note: str
    created: datetime


_REQUEST = """
SELECT request.id, asked_by, token.name AS asked_by_name, body_digest, tree, base_commit, head_commit, suites, profile, boots, priority,
       note, request.created
FROM request JOIN token ON token.id = asked_by
"""


def request_by_key(connection: Connection[Any], token_id: int, key: str) -> RequestRow | None:
    query = _REQUEST + " WHERE asked_by = %s AND idempotency_key = %s"
    return typed(connection, RequestRow).execute(query, [token_id, key]).fetchone()


def insert_request(connection: Connection[Any], request: NewRequest) -> bool:
    """Whether it is new; False where this key was used meanwhile."""
    inserted = connection.execute(
        "INSERT INTO request (id, idempotency_key, asked_by, body_digest, tree, base_commit, head_commit, suites, profile,"
        " boots, priority, note, created) VALUES (%(id)s, %(idempotency_key)s, %(asked_by)s, %(body_digest)s, %(tree)s,"
        " %(base_commit)s, %(head_commit)s, %(suites)s, %(profile)s, %(boots)s, %(priority)s, %(note)s, %(created)s)"
        " ON CONFLICT (asked_by, idempotency_key) DO NOTHING RETURNING id",
        asdict(request),
    ).fetchone()
    return inserted is not None


def request_row(connection: Connection[Any], identity: UUID) -> RequestRow | None:
    return typed(connection, RequestRow).execute(_REQUEST + " WHERE request.id = %s", [identity]).fetchone()


def list_requests(
    connection: Connection[Any], *, at: datetime | None, number: UUID | None, limit: int
) -> list[RequestRow]:
    """Newest first, from a position on: when the request before was made, and its number."""
    query = (
        _REQUEST + " WHERE %(at)s::timestamptz IS NULL OR (request.created, request.id) < (%(at)s, %(id)s)"
        " ORDER BY request.created DESC, request.id DESC LIMIT %(limit)s"
    )
    return typed(connection, RequestRow).execute(query, {"at": at, "id": number, "limit": limit}).fetchall()
