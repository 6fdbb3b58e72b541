"""Tokens of GitHub Actions jobs and of people who sign in with a GitHub account, by hash."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor, values


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRow:
    """The token whose rights the tokens of jobs have."""

    id: int
    revoked: datetime | None
    """When an operator revoked it."""


def keep_owner(connection: Connection[Any], host: str, now: datetime) -> OwnerRow | None:
    """Returns the token of a host's name that nobody can hold; None if somebody holds one of that name."""
    hashed = f"nobody's: {host}".encode()
    connection.execute(
        "INSERT INTO token (name, hash, scopes, host, created) VALUES (%s, %s, '{upload}', %s, %s)"
        " ON CONFLICT (name) DO NOTHING",
        [host, hashed, host, now],
    )
    query = "SELECT id, revoked FROM token WHERE name = %s AND hash = %s"
    return row_cursor(connection, OwnerRow).execute(query, [host, hashed]).fetchone()


def insert_job_token(
    connection: Connection[Any], owner: int, hashed: bytes, identity: bytes, expires: datetime, now: datetime
) -> bool:
    """Returns whether the identity, given as a hash, is new.

    Extends the owner's expiry to that of its last token.
    """
    inserted = connection.execute(
        "INSERT INTO github_job_token (identity, hash, token_id, created, expires)"
        " VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (identity) DO NOTHING RETURNING identity",
        [identity, hashed, owner, now, expires],
    ).fetchone()
    if inserted is None:
        return False
    connection.execute("UPDATE token SET expires = greatest(expires, %s) WHERE id = %s", [expires, owner])
    return True


def remove_job_tokens(connection: Connection[Any], before: datetime) -> int:
    """Removes the tokens that expired before a time; returns how many."""
    return connection.execute("DELETE FROM github_job_token WHERE expires < %s", [before]).rowcount


def keep_person(connection: Connection[Any], account: int, name: str, now: datetime) -> int | None:
    """Returns the id of an account's token, which nobody can hold: no secret has its hash.

    The first sign-in makes it; it keeps its name when the account's login changes. None if another token has
    the name.
    """
    hashed = f"nobody's: GitHub account {account}".encode()
    connection.execute(
        "INSERT INTO token (name, hash, scopes, created) VALUES (%s, %s, '{triage}', %s)"
        " ON CONFLICT DO NOTHING",
        [name, hashed, now],
    )
    return values(connection, int).execute("SELECT id FROM token WHERE hash = %s", [hashed]).fetchone()
