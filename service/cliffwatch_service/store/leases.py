"""Leases: which host does, or did, which job, under which token."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import Connection


def open_lease_of_host(connection: Connection[Any], host_id: int) -> Mapping[str, Any] | None:
    return connection.execute(
        "SELECT * FROM lease WHERE host_id = %s AND ended IS NULL FOR UPDATE", [host_id]
    ).fetchone()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRow:
    """A lease as it is granted: `enrolled` with a token for its host alone; `trust` of its job at that moment."""

    id: UUID
    job_id: UUID
    host_id: int
    token_id: int | None
    enrolled: bool
    trust: str


def insert_lease(connection: Connection[Any], row: LeaseRow, now: datetime, length: timedelta) -> None:
    connection.execute(
        "INSERT INTO lease (id, job_id, host_id, token_id, enrolled, trust, granted, expires)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        [row.id, row.job_id, row.host_id, row.token_id, row.enrolled, row.trust, now, now + length],
    )
    connection.execute(
        "UPDATE job SET state = 'leased', started = coalesce(started, %s) WHERE id = %s", [now, row.job_id]
    )


def lease_of_job(connection: Connection[Any], job_id: UUID, host: str) -> Mapping[str, Any] | None:
    """The lease of a job that a host has, or had last."""
    return connection.execute(
        "SELECT lease.*, host.name AS host FROM lease JOIN host ON host.id = host_id WHERE job_id = %s AND host.name = %s"
        " ORDER BY (lease.ended IS NULL) DESC, lease.granted DESC LIMIT 1",
        [job_id, host],
    ).fetchone()


def newest_lease(connection: Connection[Any], job_id: UUID) -> UUID | None:
    """The lease that a job is done under, or was done under last."""
    row = connection.execute(
        "SELECT id FROM lease WHERE job_id = %s ORDER BY (ended IS NULL) DESC, granted DESC LIMIT 1", [job_id]
    ).fetchone()
    return None if row is None else row["id"]


def job_of_lease(connection: Connection[Any], lease_id: UUID) -> UUID:
    row = connection.execute("SELECT job_id FROM lease WHERE id = %s", [lease_id]).fetchone()
    assert row is not None
    identity: UUID = row["job_id"]
    return identity


def lock_lease(connection: Connection[Any], identity: UUID) -> Mapping[str, Any] | None:
    return connection.execute(
        "SELECT lease.*, host.name AS host FROM lease JOIN host ON host.id = host_id WHERE lease.id = %s FOR UPDATE OF lease",
        [identity],
    ).fetchone()


def extend_lease(connection: Connection[Any], identity: UUID, expires: datetime) -> None:
    connection.execute("UPDATE lease SET expires = %s WHERE id = %s", [expires, identity])


def end_lease(connection: Connection[Any], identity: UUID, outcome: str, reason: str | None, now: datetime) -> None:
    connection.execute(
        "UPDATE lease SET ended = %s, outcome = %s, reason = %s WHERE id = %s", [now, outcome, reason, identity]
    )


def expired_leases(connection: Connection[Any], now: datetime) -> list[Mapping[str, Any]]:
    return connection.execute(
        "SELECT * FROM lease WHERE ended IS NULL AND expires < %s ORDER BY expires FOR UPDATE SKIP LOCKED", [now]
    ).fetchall()


def renew_leases(connection: Connection[Any], expires: datetime) -> int:
    return connection.execute(
        "UPDATE lease SET expires = greatest(expires, %s) WHERE ended IS NULL", [expires]
    ).rowcount


_ABSENCES = """
SELECT count(*) AS absences FROM lease
WHERE job_id = %(job)s AND outcome = 'expired' AND granted >= coalesce(
    (SELECT max(at) FROM event WHERE job_id = %(job)s AND lease_id IS NULL AND kind = 'queued' AND data ? 'by'), '-infinity')
"""


def absences_of(connection: Connection[Any], job_id: UUID) -> int:
    """How often a host went offline in a job, since somebody last put it back into the queue."""
    row = connection.execute(_ABSENCES, {"job": job_id}).fetchone()
    assert row is not None
    return int(row["absences"])
