"""The tokens that people act under who signed in with their GitHub account."""

from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import values


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
