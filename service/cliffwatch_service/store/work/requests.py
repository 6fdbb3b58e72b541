"""Requests: what people and pushes ask for."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.postgres.rows import typed


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRequest:
    """What somebody asks; `boots` is `auto`, `staged`, `careful` or a number, `priority` counts from 0, which goes first. `setup` is what
    it brings (`cliffwatch.formats.setup`), None for nothing, and `cpus` those of the largest guest that it names.
    """

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
    setup: FreeJson | None
    cpus: int


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
    setup: FreeJson | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFileRow:
    """A file that came with a request."""

    name: str
    content: bytes


_REQUEST = """
SELECT request.id, asked_by, token.name AS asked_by_name, body_digest, tree, base_commit, head_commit, suites, profile, boots, priority,
       note, request.created, setup
FROM request JOIN token ON token.id = asked_by
"""


def request_by_key(connection: Connection[Any], token_id: int, key: str) -> RequestRow | None:
    query = _REQUEST + " WHERE asked_by = %s AND idempotency_key = %s"
    return typed(connection, RequestRow).execute(query, [token_id, key]).fetchone()


def insert_request(connection: Connection[Any], request: NewRequest) -> bool:
    """Whether it is new; False where this key was used meanwhile."""
    inserted = connection.execute(
        "INSERT INTO request (id, idempotency_key, asked_by, body_digest, tree, base_commit, head_commit, suites, profile,"
        " boots, priority, note, created, setup, cpus) VALUES (%(id)s, %(idempotency_key)s, %(asked_by)s, %(body_digest)s, %(tree)s,"
        " %(base_commit)s, %(head_commit)s, %(suites)s, %(profile)s, %(boots)s, %(priority)s, %(note)s, %(created)s, %(setup)s, %(cpus)s)"
        " ON CONFLICT (asked_by, idempotency_key) DO NOTHING RETURNING id",
        asdict(request) | {"setup": None if request.setup is None else Jsonb(request.setup)},
    ).fetchone()
    return inserted is not None


def insert_files(connection: Connection[Any], request: UUID, files: Mapping[str, bytes]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO request_file (request_id, name, content) VALUES (%s, %s, %s)",
            [(request, name, content) for name, content in files.items()],
        )


def files_of(connection: Connection[Any], request: UUID) -> list[RequestFileRow]:
    query = "SELECT name, content FROM request_file WHERE request_id = %s ORDER BY name"
    return typed(connection, RequestFileRow).execute(query, [request]).fetchall()


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
