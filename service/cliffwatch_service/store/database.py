"""The database as a whole: whether it answers, what it holds, and how long a transaction may take."""

from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import fetch_single_row, values


def is_demonstration(connection: Connection[Any]) -> bool:
    return connection.execute("SELECT 1 FROM demonstration").fetchone() is not None


def mark_demonstration(connection: Connection[Any], now: datetime) -> None:
    connection.execute("INSERT INTO demonstration (made) VALUES (%s) ON CONFLICT DO NOTHING", [now])


def holds_results(connection: Connection[Any]) -> bool:
    return (
        connection.execute("SELECT 1 FROM run UNION ALL SELECT 1 FROM request LIMIT 1").fetchone() is not None
    )


def allow_long_work(connection: Connection[Any]) -> None:
    """Raises the time limits of the current transaction above those of a request."""
    connection.execute(
        "SET LOCAL statement_timeout = '2min'; SET LOCAL lock_timeout = '1min';"
        " SET LOCAL idle_in_transaction_session_timeout = '15min'"
    )


_REPORTS = 0x636C6966
"""Advisory lock of those who change reports."""


def lock_reports(connection: Connection[Any]) -> None:
    """Waits until no other transaction changes reports, and keeps others out until this one ends.

    Results that arrive together change the same reports in different orders: without the lock, their
    transactions deadlock.
    """
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [_REPORTS])


def size_bytes(connection: Connection[Any]) -> int:
    """Size of the database on its disk."""
    query = "SELECT pg_database_size(current_database())::bigint AS bytes"
    return fetch_single_row(values(connection, int).execute(query))


def record_backup(connection: Connection[Any], taken: datetime, size: int) -> None:
    """Records a backup that was written and verified. `taken`: the moment that it holds; `size` in bytes."""
    connection.execute("INSERT INTO backup (taken, bytes) VALUES (%s, %s)", [taken, size])


def last_backup(connection: Connection[Any]) -> datetime | None:
    """Returns the moment that the newest verified backup holds; None if there never was one."""
    query = "SELECT taken FROM backup ORDER BY taken DESC LIMIT 1"
    return values(connection, datetime).execute(query).fetchone()


def answers(connection: Connection[Any]) -> None:
    """Raises psycopg.Error if the database does not answer."""
    connection.execute("SELECT 1")
