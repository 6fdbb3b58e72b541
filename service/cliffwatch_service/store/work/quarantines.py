"""Quarantines of hosts. A host has at most one that has not ended."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRow:
    """A quarantine of a host."""

    host: str
    began: datetime
    reason: str
    run: str | None
    """Digest of the run whose control moved; None if an operator asked for the quarantine."""
    ended: datetime | None
    """None if the host is in quarantine now."""
    ended_by: str | None


_ROWS = """
SELECT host.name AS host, began, reason, run.digest AS run, ended, ended_by
FROM quarantine JOIN host ON host.id = quarantine.host_id LEFT JOIN run ON run.id = run_id
"""


def quarantine_of(connection: Connection[Any], host_id: int) -> QuarantineRow | None:
    """Returns the quarantine that a host is in now."""
    query = _ROWS + "WHERE quarantine.host_id = %s AND ended IS NULL"
    return row_cursor(connection, QuarantineRow).execute(query, [host_id]).fetchone()


def newest_quarantine(connection: Connection[Any], host_id: int) -> QuarantineRow | None:
    """Returns the newest quarantine of a host, ended or not."""
    query = _ROWS + "WHERE quarantine.host_id = %s ORDER BY began DESC, quarantine.id DESC LIMIT 1"
    return row_cursor(connection, QuarantineRow).execute(query, [host_id]).fetchone()


def list_quarantines(connection: Connection[Any]) -> list[QuarantineRow]:
    """Returns all quarantines: those that have not ended first, then the newest."""
    return (
        row_cursor(connection, QuarantineRow)
        .execute(_ROWS + "ORDER BY ended IS NOT NULL, began DESC, quarantine.id DESC")
        .fetchall()
    )


def begin_quarantine(
    connection: Connection[Any], host_id: int, reason: str, run_id: int | None, now: datetime
) -> bool:
    """Returns False if the host is in quarantine already, or was because of this run."""
    begun = connection.execute(
        "INSERT INTO quarantine (host_id, began, reason, run_id) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING RETURNING id",
        [host_id, now, reason, run_id],
    ).fetchone()
    return begun is not None


def end_quarantine(connection: Connection[Any], host_id: int, by: str, now: datetime) -> bool:
    """Returns False if the host is not in quarantine."""
    ended = connection.execute(
        "UPDATE quarantine SET ended = %s, ended_by = %s WHERE host_id = %s AND ended IS NULL RETURNING id",
        [now, by, host_id],
    ).fetchone()
    return ended is not None
