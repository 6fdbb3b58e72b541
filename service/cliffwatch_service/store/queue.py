"""Requests, jobs, leases, events and the hosts that take them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb


def keep_host(
    connection: Connection[Any], name: str, platform: str, about: Mapping[str, Any], now: datetime
) -> Mapping[str, Any]:
    """The host's row. Its platform stays that of its first word."""
    connection.execute("INSERT INTO platform (name) VALUES (%s) ON CONFLICT DO NOTHING", [platform])
    row: Mapping[str, Any] | None = connection.execute(
        "INSERT INTO host (name, platform, added, last_seen, about) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (name) DO UPDATE SET last_seen = excluded.last_seen, about = host.about || excluded.about"
        " RETURNING id, name, platform, token_id",
        [name, platform, now, now, Jsonb(about)],
    ).fetchone()
    assert row is not None
    return row


def give_host(connection: Connection[Any], host_id: int, token_id: int | None, platform: str) -> None:
    """Makes a host the one that works under this token, on this platform."""
    connection.execute("UPDATE host SET token_id = %s, platform = %s WHERE id = %s", [token_id, platform, host_id])


def see_host(connection: Connection[Any], host_id: int, now: datetime) -> None:
    connection.execute("UPDATE host SET last_seen = %s WHERE id = %s", [now, host_id])


def list_hosts(connection: Connection[Any]) -> list[Mapping[str, Any]]:
    return connection.execute(
        "SELECT host.name, host.platform, added, last_seen, about,"
        " (SELECT job_id FROM lease WHERE host_id = host.id AND lease.ended IS NULL LIMIT 1) AS job"
        " FROM host ORDER BY host.name"
    ).fetchall()


def request_by_key(connection: Connection[Any], token_id: int, key: str) -> Mapping[str, Any] | None:
    return connection.execute(
        "SELECT * FROM request WHERE asked_by = %s AND idempotency_key = %s", [token_id, key]
    ).fetchone()


def insert_request(connection: Connection[Any], row: Mapping[str, Any]) -> bool:
    """Whether it is new; False where this key was used meanwhile."""
    inserted = connection.execute(
        "INSERT INTO request (id, idempotency_key, asked_by, body_digest, tree, base_commit, head_commit, suites, profile,"
        " boots, priority, note, created) VALUES (%(id)s, %(idempotency_key)s, %(asked_by)s, %(body_digest)s, %(tree)s,"
        " %(base_commit)s, %(head_commit)s, %(suites)s, %(profile)s, %(boots)s, %(priority)s, %(note)s, %(created)s)"
        " ON CONFLICT (asked_by, idempotency_key) DO NOTHING RETURNING id",
        row,
    ).fetchone()
    return inserted is not None


def request_row(connection: Connection[Any], identity: UUID) -> Mapping[str, Any] | None:
    return connection.execute(
        "SELECT request.*, token.name AS asked_by_name FROM request JOIN token ON token.id = asked_by WHERE request.id = %s",
        [identity],
    ).fetchone()


def list_requests(connection: Connection[Any], wanted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return connection.execute(
        "SELECT request.*, token.name AS asked_by_name FROM request JOIN token ON token.id = asked_by"
        " WHERE %(at)s::timestamptz IS NULL OR (request.created, request.id) < (%(at)s, %(id)s)"
        " ORDER BY request.created DESC, request.id DESC LIMIT %(limit)s",
        wanted,
    ).fetchall()


def insert_job(connection: Connection[Any], row: Mapping[str, Any]) -> None:
    connection.execute("INSERT INTO platform (name) VALUES (%s) ON CONFLICT DO NOTHING", [row["platform"]])
    connection.execute(
        "INSERT INTO job (id, request_id, platform, mode, seed, state, priority, due, created) VALUES"
        " (%(id)s, %(request_id)s, %(platform)s, %(mode)s, %(seed)s, 'queued', %(priority)s, %(due)s, %(created)s)",
        row,
    )


_JOB = """
SELECT job.*, request.tree, request.asked_by, base_commit, head_commit, suites, profile, boots, run.digest AS run, host.name AS host,
       lease.expires AS lease_expires
FROM job JOIN request ON request.id = request_id LEFT JOIN run ON run.id = run_id
LEFT JOIN lease ON lease.job_id = job.id AND lease.ended IS NULL LEFT JOIN host ON host.id = lease.host_id
"""


def job_row(connection: Connection[Any], identity: UUID) -> Mapping[str, Any] | None:
    return connection.execute(_JOB + " WHERE job.id = %s", [identity]).fetchone()


def job_of_run(connection: Connection[Any], run_id: int) -> Mapping[str, Any] | None:
    """The newest job that a run was made for."""
    return connection.execute(_JOB + " WHERE run_id = %s ORDER BY job.created DESC LIMIT 1", [run_id]).fetchone()


def lock_job(connection: Connection[Any], identity: UUID) -> Mapping[str, Any] | None:
    return connection.execute("SELECT * FROM job WHERE id = %s FOR UPDATE", [identity]).fetchone()


def jobs_of_request(connection: Connection[Any], identity: UUID) -> list[Mapping[str, Any]]:
    return connection.execute(_JOB + " WHERE request_id = %s ORDER BY job.platform, job.mode", [identity]).fetchall()


def list_jobs(connection: Connection[Any], wanted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return connection.execute(
        _JOB + " WHERE (%(state)s::text IS NULL OR job.state = %(state)s)"
        " AND (%(at)s::timestamptz IS NULL OR (job.created, job.id) < (%(at)s, %(id)s))"
        " ORDER BY job.created DESC, job.id DESC LIMIT %(limit)s",
        wanted,
    ).fetchall()


_NEXT = """
SELECT id FROM job
WHERE state = 'queued' AND platform = %(platform)s AND mode = ANY(%(modes)s) AND NOT %(host)s = ANY(failed_hosts)
ORDER BY due, id LIMIT 1
FOR UPDATE SKIP LOCKED
"""


def take_next(connection: Connection[Any], platform: str, modes: Sequence[str], host_id: int) -> UUID | None:
    """Locks the job that this host should do next: two hosts that ask at once get two jobs."""
    row = connection.execute(_NEXT, {"platform": platform, "modes": list(modes), "host": host_id}).fetchone()
    return None if row is None else row["id"]


def set_job(
    connection: Connection[Any],
    identity: UUID,
    state: str,
    *,
    reason: str | None,
    failed_hosts: Sequence[int],
    run_id: int | None,
    ended: datetime | None,
) -> None:
    connection.execute(
        "UPDATE job SET state = %s, reason = %s, failed_hosts = %s, run_id = coalesce(%s, run_id), ended = %s WHERE id = %s",
        [state, reason, list(failed_hosts), run_id, ended, identity],
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
    data: Mapping[str, Any],
    at: datetime,
) -> None:
    """Events of a lease are numbered by its host: one that is sent twice is stored once."""
    connection.execute(
        "INSERT INTO event (job_id, lease_id, sequence, at, kind, data) VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        [job_id, lease_id, sequence, at, kind, Jsonb(data)],
    )


def write_own_event(
    connection: Connection[Any], job_id: UUID, kind: str, data: Mapping[str, Any], at: datetime
) -> None:
    """An event of the service itself, numbered under the job's lock."""
    connection.execute(
        "INSERT INTO event (job_id, lease_id, sequence, at, kind, data)"
        " SELECT %(job)s, NULL, count(*), %(at)s, %(kind)s, %(data)s FROM event WHERE job_id = %(job)s AND lease_id IS NULL",
        {"job": job_id, "at": at, "kind": kind, "data": Jsonb(data)},
    )


def events_after(connection: Connection[Any], job_id: UUID, after: int, limit: int) -> list[Mapping[str, Any]]:
    return connection.execute(
        "SELECT id, at, kind, data FROM event WHERE job_id = %s AND id > %s ORDER BY id LIMIT %s",
        [job_id, after, limit],
    ).fetchall()


def last_events(connection: Connection[Any], job_id: UUID, limit: int) -> list[Mapping[str, Any]]:
    """The newest events of a job, the oldest of them first."""
    rows = connection.execute(
        "SELECT id, at, kind, data FROM event WHERE job_id = %s ORDER BY id DESC LIMIT %s", [job_id, limit]
    ).fetchall()
    return list(reversed(rows))


def queue_of(connection: Connection[Any], limit: int) -> list[Mapping[str, Any]]:
    """What waits and what runs, in the order in which each platform will take it."""
    return connection.execute(
        _JOB
        + " WHERE job.state IN ('queued', 'leased') ORDER BY job.platform, job.state = 'queued', job.due, job.id LIMIT %s",
        [limit],
    ).fetchall()


def durations(connection: Connection[Any], platform: str, mode: str) -> list[float]:
    """Seconds that the last finished jobs of this platform and mode took, newest first."""
    rows = connection.execute(
        "SELECT extract(epoch FROM ended - started)::float8 AS seconds FROM job"
        " WHERE platform = %s AND mode = %s AND state = 'done' AND started IS NOT NULL ORDER BY ended DESC LIMIT 50",
        [platform, mode],
    ).fetchall()
    return [row["seconds"] for row in rows]


def hosts_at_work(connection: Connection[Any], platform: str, since: datetime) -> int:
    row = connection.execute(
        "SELECT count(*) AS hosts FROM host WHERE platform = %s AND last_seen >= %s", [platform, since]
    ).fetchone()
    assert row is not None
    return int(row["hosts"])


def offered_targets(connection: Connection[Any]) -> dict[tuple[str, str], datetime]:
    """Every platform and mode that a host has offered, and when such a host was last seen."""
    rows = connection.execute(
        "SELECT platform, mode, max(last_seen) AS last_seen FROM host, jsonb_array_elements_text("
        "CASE jsonb_typeof(about -> 'modes') WHEN 'array' THEN about -> 'modes' ELSE '[]' END) AS mode"
        " GROUP BY platform, mode"
    ).fetchall()
    return {(row["platform"], row["mode"]): row["last_seen"] for row in rows}


def reopen_job(connection: Connection[Any], identity: UUID) -> None:
    connection.execute(
        "UPDATE job SET state = 'queued', cancel = false, failed_hosts = '{}', reason = NULL, ended = NULL WHERE id = %s",
        [identity],
    )
