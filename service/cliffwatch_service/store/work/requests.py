"""Requests of people and pushes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.postgres.rows import pairs, row_cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRequest:
    """A request to store."""

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
    """`auto`, `staged`, `careful` or a number."""
    priority: int
    """Counts from 0, which goes first."""
    note: str
    created: datetime
    setup: FreeJson | None
    """What it brings (`cliffwatch.formats.setup`); None for nothing."""
    cpus: int
    """CPUs of the largest guest that it names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """A stored request."""

    id: UUID
    asked_by: int
    asked_by_name: str
    """Name of the token that asked."""
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


_REQUEST = """
SELECT request.id, asked_by, token.name AS asked_by_name, body_digest, tree, base_commit, head_commit, suites,
    profile, boots, priority, note, request.created, setup
FROM request JOIN token ON token.id = asked_by
"""


def request_by_key(connection: Connection[Any], token_id: int, key: str) -> RequestRow | None:
    query = _REQUEST + " WHERE asked_by = %s AND idempotency_key = %s"
    return row_cursor(connection, RequestRow).execute(query, [token_id, key]).fetchone()


def insert_request(connection: Connection[Any], request: NewRequest) -> bool:
    """Returns whether it is new; False if the key was used meanwhile."""
    inserted = connection.execute(
        "INSERT INTO request (id, idempotency_key, asked_by, body_digest, tree, base_commit, head_commit,"
        " suites, profile, boots, priority, note, created, setup, cpus)"
        " VALUES (%(id)s, %(idempotency_key)s, %(asked_by)s, %(body_digest)s, %(tree)s,"
        " %(base_commit)s, %(head_commit)s, %(suites)s, %(profile)s, %(boots)s, %(priority)s, %(note)s,"
        " %(created)s, %(setup)s, %(cpus)s)"
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


def files_of(connection: Connection[Any], request: UUID) -> list[tuple[str, bytes]]:
    """Returns the names and contents of the files that came with a request."""
    query = "SELECT name, content FROM request_file WHERE request_id = %s ORDER BY name"
    return pairs(connection, str, bytes).execute(query, [request]).fetchall()


def request_row(connection: Connection[Any], identity: UUID) -> RequestRow | None:
    return (
        row_cursor(connection, RequestRow).execute(_REQUEST + " WHERE request.id = %s", [identity]).fetchone()
    )


def list_requests(
    connection: Connection[Any], *, at: datetime | None, number: UUID | None, limit: int
) -> list[RequestRow]:
    """Returns requests, newest first.

    `at` and `number` are the time of creation and the id of the request before the first.
    """
    query = (
        _REQUEST + " WHERE %(at)s::timestamptz IS NULL OR (request.created, request.id) < (%(at)s, %(id)s)"
        " ORDER BY request.created DESC, request.id DESC LIMIT %(limit)s"
    )
    return (
        row_cursor(connection, RequestRow).execute(query, {"at": at, "id": number, "limit": limit}).fetchall()
    )
