"""Ranges of followed branches that are measured later."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogRow:
    """A range to measure later."""

    id: int
    base_commit: str
    head_commit: str
    base_ordinal: int | None
    """Place on the branch; None if it is no longer on it."""
    head_ordinal: int | None
    """Place on the branch; None if it is no longer on it."""
    commits: int
    """Number of first-parent commits."""
    measured: bool
    """False if only its halves are to be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRange:
    """A range to store."""

    base_commit: str
    head_commit: str
    commits: int
    """Number of first-parent commits."""
    measured: bool
    """False if only its halves are to be measured."""


def keep_range(connection: Connection[Any], follow_id: int, row: NewRange, now: datetime) -> bool:
    """Returns whether the range is new."""
    kept = connection.execute(
        "INSERT INTO backlog (follow_id, base_commit, head_commit, commits, measured, made)"
        " VALUES (%s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (follow_id, base_commit, head_commit) DO NOTHING RETURNING id",
        [follow_id, row.base_commit, row.head_commit, row.commits, row.measured, now],
    )
    return kept.fetchone() is not None


_NEXT = """
SELECT backlog.id, base_commit, backlog.head_commit, before.ordinal AS base_ordinal,
    after.ordinal AS head_ordinal, commits, measured
FROM backlog JOIN follow ON follow.id = follow_id
LEFT JOIN revision AS base ON base.commit = base_commit
LEFT JOIN branch_revision AS before ON before.branch_id = follow.branch_id AND before.revision_id = base.id
LEFT JOIN revision AS head ON head.commit = backlog.head_commit
LEFT JOIN branch_revision AS after ON after.branch_id = follow.branch_id AND after.revision_id = head.id
WHERE follow_id = %s ORDER BY commits DESC, after.ordinal DESC NULLS LAST, backlog.id LIMIT 1
"""


def longest_range(connection: Connection[Any], follow_id: int) -> BacklogRow | None:
    """Returns the longest range; of equally long ranges the newest."""
    return row_cursor(connection, BacklogRow).execute(_NEXT, [follow_id]).fetchone()


def remove_range(connection: Connection[Any], identity: int) -> None:
    connection.execute("DELETE FROM backlog WHERE id = %s", [identity])


def waiting_jobs(connection: Connection[Any], follow_id: int, token_id: int) -> int:
    """Returns how many jobs of a followed branch are queued or under way."""
    query = (
        "SELECT count(*) FROM job JOIN request ON request.id = request_id WHERE asked_by = %s"
        " AND starts_with(idempotency_key, %s) AND state IN ('queued', 'leased')"
    )
    return fetch_single_row(values(connection, int).execute(query, [token_id, f"{follow_id} "]))
