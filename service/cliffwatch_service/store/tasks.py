"""Background tasks as Procrastinate keeps them."""

from collections.abc import Mapping
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb


def list_tasks(connection: Connection[Any], wanted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Newest first; `wanted` has status, id to go on before, and limit."""
    return connection.execute(
        "SELECT job.id, task_name AS task, args AS about, status::text, attempts, scheduled_at AS due,"
        " (SELECT max(at) FROM procrastinate_events WHERE job_id = job.id) AS at FROM procrastinate_jobs AS job"
        " WHERE (%(status)s::text IS NULL OR status::text = %(status)s) AND job.id < coalesce(%(id)s, 9223372036854775807)"
        " ORDER BY job.id DESC LIMIT %(limit)s",
        wanted,
    ).fetchall()


def failed_for_good(connection: Connection[Any], task: str, about: Mapping[str, Any]) -> bool:
    """Whether the newest task of this name about this was given up."""
    row = connection.execute(
        "SELECT status::text FROM procrastinate_jobs WHERE task_name = %s AND args = %s ORDER BY id DESC LIMIT 1",
        [task, Jsonb(about)],
    ).fetchone()
    return row is not None and row["status"] == "failed"


def counts(connection: Connection[Any]) -> Mapping[str, Mapping[str, int]]:
    """How many jobs, tasks and leases there are in each state."""
    queries = {
        "jobs": "SELECT state AS state, count(*) AS n FROM job GROUP BY 1",
        "tasks": "SELECT status::text AS state, count(*) AS n FROM procrastinate_jobs GROUP BY 1",
    }
    return {
        name: {row["state"]: row["n"] for row in connection.execute(query).fetchall()}
        for name, query in queries.items()
    }
