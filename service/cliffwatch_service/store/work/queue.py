"""Jobs, in the order in which hosts take them, and their events."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import row_cursor, values

JobState = Literal["queued", "leased", "done", "failed", "cancelled", "parked"]
FailedParty = Literal["kernel", "usage"]
"""Whose fault a failed job is: the kernel's, or the requester's, who asked for something impossible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to store."""

    id: UUID
    request_id: UUID
    platform: str
    mode: str
    seed: int
    priority: int
    due: datetime
    """Its place in the queue."""
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job, with what its request asks for."""

    id: UUID
    request_id: UUID
    platform: str
    mode: Mode
    seed: int
    state: JobState
    priority: int
    cancel: bool
    run_id: int | None
    whose: FailedParty | None
    """None unless it failed."""
    reason: str | None
    created: datetime
    started: datetime | None
    ended: datetime | None
    tree: str
    asked_by: int
    base_commit: str
    head_commit: str
    suites: list[str]
    profile: str
    boots: str
    setup: FreeJson | None
    run: str | None
    """Digest of its run."""
    host: str | None
    """The host that does it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedJobRow:
    """The state of a job, locked until the end of the transaction."""

    id: UUID
    state: JobState
    cancel: bool
    failed_hosts: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """An event of a job."""

    id: int
    at: datetime
    kind: str
    data: FreeJson
    """What its host reports about it."""


def insert_job(connection: Connection[Any], job: NewJob) -> None:
    connection.execute("INSERT INTO platform (name) VALUES (%s) ON CONFLICT DO NOTHING", [job.platform])
    connection.execute(
        "INSERT INTO job (id, request_id, platform, mode, seed, state, priority, due, created) VALUES"
        " (%(id)s, %(request_id)s, %(platform)s, %(mode)s, %(seed)s, 'queued', %(priority)s, %(due)s,"
        " %(created)s)",
        asdict(job),
    )


_JOB = """
SELECT job.id, request_id, job.platform, job.mode, seed, job.state, job.priority, cancel, run_id, whose,
    job.reason, job.created, started,
       job.ended, request.tree, request.asked_by, base_commit, head_commit, suites, profile, boots, setup,
           run.digest AS run, host.name AS host
FROM job JOIN request ON request.id = request_id LEFT JOIN run ON run.id = run_id
LEFT JOIN lease ON lease.job_id = job.id AND lease.ended IS NULL LEFT JOIN host ON host.id = lease.host_id
"""


def job_row(connection: Connection[Any], identity: UUID) -> JobRow | None:
    return row_cursor(connection, JobRow).execute(_JOB + " WHERE job.id = %s", [identity]).fetchone()


def job_of_run(connection: Connection[Any], run_id: int) -> JobRow | None:
    """Returns the newest job for which a run was made."""
    query = _JOB + " WHERE run_id = %s ORDER BY job.created DESC LIMIT 1"
    return row_cursor(connection, JobRow).execute(query, [run_id]).fetchone()


def lock_job(connection: Connection[Any], identity: UUID) -> LockedJobRow | None:
    query = "SELECT id, state, cancel, failed_hosts FROM job WHERE id = %s FOR UPDATE"
    return row_cursor(connection, LockedJobRow).execute(query, [identity]).fetchone()


def jobs_of_request(connection: Connection[Any], identity: UUID) -> list[JobRow]:
    query = _JOB + " WHERE request_id = %s ORDER BY job.platform, job.mode"
    return row_cursor(connection, JobRow).execute(query, [identity]).fetchall()


def list_jobs(
    connection: Connection[Any], *, state: str | None, at: datetime | None, number: UUID | None, limit: int
) -> list[JobRow]:
    """Returns jobs, newest first.

    `at` and `number` are the time of creation and the id of the job before the first. None leaves a filter
    open.
    """
    query = (
        _JOB + " WHERE (%(state)s::text IS NULL OR job.state = %(state)s)"
        " AND (%(at)s::timestamptz IS NULL OR (job.created, job.id) < (%(at)s, %(id)s))"
        " ORDER BY job.created DESC, job.id DESC LIMIT %(limit)s"
    )
    wanted = {"state": state, "at": at, "id": number, "limit": limit}
    return row_cursor(connection, JobRow).execute(query, wanted).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAbilities:
    """What a host can do of what a setup may ask for."""

    setups: bool
    """Whether it takes requests with a setup."""
    build_images: Sequence[str]
    """Images that it builds in."""
    cpus: int | None
    """None if it does not say."""


_NEXT = """
SELECT job.id FROM job JOIN request ON request.id = request_id
WHERE state = 'queued' AND platform = %(platform)s AND mode = ANY(%(modes)s)
    AND NOT %(host)s = ANY(failed_hosts)
AND (setup IS NULL OR (%(setups)s AND (setup -> 'build_image' IS NULL
    OR setup ->> 'build_image' = ANY(%(images)s))))
AND (mode = 'icount' OR cpus <= coalesce(%(cpus)s, cpus))
ORDER BY due, job.id LIMIT 1
FOR UPDATE OF job SKIP LOCKED
"""


def take_next(
    connection: Connection[Any], platform: str, modes: Sequence[str], host_id: int, abilities: HostAbilities
) -> UUID | None:
    """Locks the next job that this host can do. Two hosts that ask at once get two jobs."""
    wanted = {
        "platform": platform,
        "modes": list(modes),
        "host": host_id,
        "setups": abilities.setups,
        "images": list(abilities.build_images),
        "cpus": abilities.cpus,
    }
    return values(connection, UUID).execute(_NEXT, wanted).fetchone()


def set_job(
    connection: Connection[Any],
    identity: UUID,
    state: JobState,
    *,
    whose: FailedParty | None,
    reason: str | None,
    failed_hosts: Sequence[int],
    run_id: int | None,
    ended: datetime | None,
) -> None:
    connection.execute(
        "UPDATE job SET state = %s, whose = %s, reason = %s, failed_hosts = %s,"
        " run_id = coalesce(%s, run_id), ended = %s"
        " WHERE id = %s",
        [state, whose, reason, list(failed_hosts), run_id, ended, identity],
    )


def ask_cancel(connection: Connection[Any], identity: UUID) -> None:
    connection.execute("UPDATE job SET cancel = true WHERE id = %s", [identity])


def attach_run(connection: Connection[Any], job_id: UUID, run_id: int) -> None:
    connection.execute("UPDATE job SET run_id = %s WHERE id = %s", [run_id, job_id])


def write_event(
    connection: Connection[Any],
    job_id: UUID,
    lease_id: UUID | None,
    sequence: int,
    kind: str,
    data: FreeJson,
    at: datetime,
) -> None:
    """Stores an event of a job.

    The host numbers the events of its lease, so a repeated one is stored once.
    """
    connection.execute(
        "INSERT INTO event (job_id, lease_id, sequence, at, kind, data) VALUES (%s, %s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        [job_id, lease_id, sequence, at, kind, Jsonb(data)],
    )


def write_own_event(
    connection: Connection[Any], job_id: UUID, kind: str, data: Mapping[str, str | None], at: datetime
) -> None:
    """Stores an event of the service itself. The job must be locked, which keeps the numbers unique."""
    connection.execute(
        "INSERT INTO event (job_id, lease_id, sequence, at, kind, data)"
        " SELECT %(job)s, NULL, count(*), %(at)s, %(kind)s, %(data)s FROM event"
        " WHERE job_id = %(job)s AND lease_id IS NULL",
        {"job": job_id, "at": at, "kind": kind, "data": Jsonb(data)},
    )


def events_after(connection: Connection[Any], job_id: UUID, after: int, limit: int) -> list[EventRow]:
    query = "SELECT id, at, kind, data FROM event WHERE job_id = %s AND id > %s ORDER BY id LIMIT %s"
    return row_cursor(connection, EventRow).execute(query, [job_id, after, limit]).fetchall()


def last_events(connection: Connection[Any], job_id: UUID, limit: int) -> list[EventRow]:
    """Returns the newest events of a job, in the order in which they happened."""
    query = "SELECT id, at, kind, data FROM event WHERE job_id = %s ORDER BY id DESC LIMIT %s"
    rows = row_cursor(connection, EventRow).execute(query, [job_id, limit]).fetchall()
    return list(reversed(rows))


def queue_of(connection: Connection[Any], limit: int) -> list[JobRow]:
    """Returns all running and waiting jobs, in the order in which each platform takes them."""
    query = (
        _JOB + " WHERE job.state IN ('queued', 'leased')"
        " ORDER BY job.platform, job.state = 'queued', job.due, job.id LIMIT %s"
    )
    return row_cursor(connection, JobRow).execute(query, [limit]).fetchall()


def durations(connection: Connection[Any], platform: str, mode: str) -> list[float]:
    """Returns how long the last finished jobs of a platform and mode took, in seconds, newest first."""
    query = (
        "SELECT extract(epoch FROM ended - started)::float8 AS seconds FROM job"
        " WHERE platform = %s AND mode = %s AND state = 'done' AND started IS NOT NULL"
        " ORDER BY ended DESC LIMIT 50"
    )
    return values(connection, float).execute(query, [platform, mode]).fetchall()


def reopen_job(connection: Connection[Any], identity: UUID) -> None:
    connection.execute(
        "UPDATE job SET state = 'queued', cancel = false, failed_hosts = '{}', whose = NULL, reason = NULL,"
        " ended = NULL"
        " WHERE id = %s",
        [identity],
    )
