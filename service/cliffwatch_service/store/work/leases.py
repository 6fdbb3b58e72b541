"""Leases: which host does or did which job, and with which token."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from psycopg import Connection

from cliffwatch.formats.work import Trust
from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values

LeaseOutcome = Literal[
    "done", "kernel-failed", "not-possible", "host-failed", "cancelled", "expired", "given-back"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLease:
    """A lease to grant."""

    id: UUID
    job_id: UUID
    host_id: int
    token_id: int | None
    enrolled: bool
    """Whether its token is bound to its host."""
    trust: Trust
    """Trust of its job at this moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRow:
    """A lease."""

    id: UUID
    job_id: UUID
    host_id: int
    host: str
    """Name of its host."""
    token_id: int | None
    enrolled: bool
    """Whether its token is bound to its host."""
    trust: Trust
    ended: datetime | None
    """None while it is open."""
    outcome: LeaseOutcome | None


_LEASE = """
SELECT lease.id, job_id, host_id, host.name AS host, lease.token_id, enrolled, trust, lease.ended, outcome
FROM lease JOIN host ON host.id = host_id
"""


def open_lease_of_host(connection: Connection[Any], host_id: int) -> LeaseRow | None:
    query = _LEASE + " WHERE host_id = %s AND lease.ended IS NULL FOR UPDATE OF lease"
    return row_cursor(connection, LeaseRow).execute(query, [host_id]).fetchone()


def insert_lease(connection: Connection[Any], lease: NewLease, now: datetime, length: timedelta) -> None:
    connection.execute(
        "INSERT INTO lease (id, job_id, host_id, token_id, enrolled, trust, granted, expires)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        [
            lease.id,
            lease.job_id,
            lease.host_id,
            lease.token_id,
            lease.enrolled,
            lease.trust,
            now,
            now + length,
        ],
    )
    connection.execute(
        "UPDATE job SET state = 'leased', started = coalesce(started, %s) WHERE id = %s", [now, lease.job_id]
    )


def lease_of_job(connection: Connection[Any], job_id: UUID, host: str) -> LeaseRow | None:
    """Returns the lease of a job that a host holds, or held last."""
    query = (
        _LEASE + " WHERE job_id = %s AND host.name = %s ORDER BY (lease.ended IS NULL) DESC,"
        " lease.granted DESC LIMIT 1"
    )
    return row_cursor(connection, LeaseRow).execute(query, [job_id, host]).fetchone()


def newest_lease(connection: Connection[Any], job_id: UUID) -> UUID | None:
    """Returns the open lease of a job, or its last one."""
    query = "SELECT id FROM lease WHERE job_id = %s ORDER BY (ended IS NULL) DESC, granted DESC LIMIT 1"
    return values(connection, UUID).execute(query, [job_id]).fetchone()


def job_of_lease(connection: Connection[Any], lease_id: UUID) -> UUID:
    return fetch_single_row(
        values(connection, UUID).execute("SELECT job_id FROM lease WHERE id = %s", [lease_id])
    )


def lock_lease(connection: Connection[Any], identity: UUID) -> LeaseRow | None:
    query = _LEASE + " WHERE lease.id = %s FOR UPDATE OF lease"
    return row_cursor(connection, LeaseRow).execute(query, [identity]).fetchone()


def extend_lease(connection: Connection[Any], identity: UUID, expires: datetime) -> None:
    connection.execute("UPDATE lease SET expires = %s WHERE id = %s", [expires, identity])


def end_lease(
    connection: Connection[Any], identity: UUID, outcome: LeaseOutcome, reason: str | None, now: datetime
) -> None:
    connection.execute(
        "UPDATE lease SET ended = %s, outcome = %s, reason = %s WHERE id = %s",
        [now, outcome, reason, identity],
    )


def regrant_future_leases(connection: Connection[Any], now: datetime) -> None:
    """Restarts open leases that were granted later than now, after the clock was set back.

    They would last too long.
    """
    connection.execute(
        "UPDATE lease SET granted = %(now)s, expires = least(expires, %(now)s + (expires - granted))"
        " WHERE ended IS NULL AND granted > %(now)s",
        {"now": now},
    )


def expired_leases(connection: Connection[Any], now: datetime) -> list[LeaseRow]:
    query = (
        _LEASE + " WHERE lease.ended IS NULL AND lease.expires < %s ORDER BY lease.expires"
        " FOR UPDATE OF lease SKIP LOCKED"
    )
    return row_cursor(connection, LeaseRow).execute(query, [now]).fetchall()


def renew_leases(connection: Connection[Any], expires: datetime) -> int:
    return connection.execute(
        "UPDATE lease SET expires = greatest(expires, %s) WHERE ended IS NULL", [expires]
    ).rowcount


_ABSENCES = """
SELECT count(*) AS absences FROM lease
WHERE job_id = %(job)s AND outcome = 'expired' AND granted >= coalesce(
    (SELECT max(at) FROM event WHERE job_id = %(job)s AND lease_id IS NULL AND kind = 'queued'
        AND data ? 'by'), '-infinity')
"""


def absences_of(connection: Connection[Any], job_id: UUID) -> int:
    """Returns how often a host went offline during a job, since somebody last put it back into the queue."""
    return fetch_single_row(values(connection, int).execute(_ABSENCES, {"job": job_id}))
