"""Tokens, stored as hashes only, with their sessions, the audit, and the bytes stored per day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A token."""

    id: int
    name: str
    scopes: list[str]
    host: str | None
    """The one host that may use it; None for any."""
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    last_used: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """An action: who did it, and to which object."""

    id: int
    at: datetime
    who: str
    action: str
    object: str
    detail: FreeJson


def insert_token(
    connection: Connection[Any],
    *,
    name: str,
    hashed: bytes,
    scopes: Sequence[str],
    host: str | None,
    expires: datetime | None,
    now: datetime,
) -> bool:
    """Returns whether the name was free."""
    inserted = connection.execute(
        "INSERT INTO token (name, hash, scopes, host, created, expires) VALUES (%s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (name) DO NOTHING RETURNING id",
        [name, hashed, list(scopes), host, now, expires],
    ).fetchone()
    return inserted is not None


_ROW = "SELECT id, name, scopes, host, created, expires, revoked, last_used FROM token"

_OF_A_JOB = """
SELECT token.id, name, scopes, host, token.created, github_job_token.expires, revoked, last_used
FROM github_job_token JOIN token ON token.id = token_id WHERE github_job_token.hash = %s
"""


def token_by_hash(connection: Connection[Any], hashed: bytes) -> TokenRow | None:
    """Returns the token with this hash.

    For the hash of a job's token, returns the token whose rights it has, with the expiry of the job's token.
    """
    found = row_cursor(connection, TokenRow).execute(_ROW + " WHERE hash = %s", [hashed]).fetchone()
    return found or row_cursor(connection, TokenRow).execute(_OF_A_JOB, [hashed]).fetchone()


def token_by_id(connection: Connection[Any], token_id: int) -> TokenRow | None:
    return row_cursor(connection, TokenRow).execute(_ROW + " WHERE id = %s", [token_id]).fetchone()


def token_of_host(connection: Connection[Any], host: str, now: datetime) -> int | None:
    """Returns a valid token that works for this host alone; None if an administrator made none."""
    query = (
        "SELECT id FROM token WHERE host = %s AND scopes && '{work}' AND revoked IS NULL"
        " AND (expires IS NULL OR expires > %s) ORDER BY id LIMIT 1"
    )
    return values(connection, int).execute(query, [host, now]).fetchone()


def is_good(connection: Connection[Any], token_id: int, now: datetime) -> bool:
    """Whether a token is neither revoked nor expired."""
    row = connection.execute(
        "SELECT FROM token WHERE id = %s AND revoked IS NULL AND (expires IS NULL OR expires > %s)",
        [token_id, now],
    ).fetchone()
    return row is not None


def touch_token(connection: Connection[Any], token_id: int, now: datetime) -> None:
    connection.execute("UPDATE token SET last_used = %s WHERE id = %s", [now, token_id])


def list_tokens(connection: Connection[Any]) -> list[TokenRow]:
    return row_cursor(connection, TokenRow).execute(_ROW + " ORDER BY created, id").fetchall()


def revoke_token(connection: Connection[Any], name: str, now: datetime) -> bool:
    """Returns whether there is a token of this name. A token that is already revoked does not change."""
    revoked = connection.execute(
        "UPDATE token SET revoked = coalesce(revoked, %s) WHERE name = %s RETURNING id", [now, name]
    ).fetchone()
    return revoked is not None


def write_audit(
    connection: Connection[Any], *, who: str, action: str, what: str, detail: FreeJson, now: datetime
) -> None:
    connection.execute(
        "INSERT INTO audit (at, who, action, object, detail) VALUES (%s, %s, %s, %s, %s)",
        [now, who, action, what, Jsonb(detail)],
    )


def list_audit(connection: Connection[Any], before: int | None, limit: int) -> list[AuditRow]:
    query = (
        "SELECT id, at, who, action, object, detail FROM audit WHERE id < coalesce(%s, 9223372036854775807)"
        " ORDER BY id DESC LIMIT %s"
    )
    return row_cursor(connection, AuditRow).execute(query, [before, limit]).fetchall()


def keep_asker(connection: Connection[Any], name: str, now: datetime) -> int:
    """Returns the id of a token under whose name the service asks by itself.

    Nobody can hold it: no secret has its hash.
    """
    connection.execute(
        "INSERT INTO token (name, hash, scopes, created, revoked) VALUES (%s, %s, '{}', %s, %s)"
        " ON CONFLICT (name) DO NOTHING",
        [name, f"nobody's: {name}".encode(), now, now],
    )
    return token_named(connection, name)


def is_asker(connection: Connection[Any], token_id: int, name: str) -> bool:
    """Whether a token is the one under which the service asks by itself with this name.

    Nobody can have used it.
    """
    query = "SELECT FROM token WHERE id = %s AND name = %s AND hash = %s"
    return connection.execute(query, [token_id, name, f"nobody's: {name}".encode()]).fetchone() is not None


def token_named(connection: Connection[Any], name: str) -> int:
    """Returns the id of an existing token."""
    return fetch_single_row(values(connection, int).execute("SELECT id FROM token WHERE name = %s", [name]))


def insert_session(connection: Connection[Any], nonce_hash: bytes, token_id: int, began: datetime) -> None:
    connection.execute(
        "INSERT INTO session (nonce_hash, token_id, began) VALUES (%s, %s, %s)", [nonce_hash, token_id, began]
    )


def session_lasts(connection: Connection[Any], nonce_hash: bytes, token_id: int) -> bool:
    session = connection.execute(
        "SELECT FROM session WHERE nonce_hash = %s AND token_id = %s", [nonce_hash, token_id]
    ).fetchone()
    return session is not None


def end_session(connection: Connection[Any], nonce_hash: bytes) -> None:
    connection.execute("DELETE FROM session WHERE nonce_hash = %s", [nonce_hash])


def forget_sessions(connection: Connection[Any], before: datetime) -> None:
    """Deletes sessions that began before a time."""
    connection.execute("DELETE FROM session WHERE began < %s", [before])


def add_bytes(connection: Connection[Any], token_id: int, day: date, size: int) -> int:
    """Adds to the bytes stored under a token on a day, and returns the day's total."""
    counted = values(connection, int).execute(
        "INSERT INTO uploaded (token_id, day, bytes) VALUES (%s, %s, %s)"
        " ON CONFLICT (token_id, day) DO UPDATE SET bytes = uploaded.bytes + excluded.bytes RETURNING bytes",
        [token_id, day, size],
    )
    return fetch_single_row(counted)
