"""Followed branches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowRow:
    """A branch to follow; `targets` are pairs of platform and mode."""

    tree: str
    branch: str
    policy: str
    targets: Sequence[Sequence[str]]
    suites: Sequence[str]
    profile: str


def keep_follow(connection: Connection[Any], branch_id: int, row: FollowRow) -> int:
    stored = connection.execute(
        "INSERT INTO follow (branch_id, policy, targets, suites, profile) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (branch_id) DO UPDATE SET policy = excluded.policy, targets = excluded.targets, suites = excluded.suites,"
        " profile = excluded.profile, polled = NULL RETURNING id",
        [branch_id, row.policy, Jsonb([list(target) for target in row.targets]), list(row.suites), row.profile],
    ).fetchone()
    assert stored is not None
    return int(stored["id"])


_FOLLOW = """
SELECT follow.*, tree.url AS tree, branch.name AS branch
FROM follow JOIN branch ON branch.id = branch_id JOIN tree ON tree.id = tree_id
"""


def follow_row(connection: Connection[Any], number: int, *, lock: bool = False) -> Mapping[str, Any] | None:
    query = _FOLLOW + " WHERE follow.id = %s" + (" FOR UPDATE OF follow" if lock else "")
    return connection.execute(query, [number]).fetchone()


def list_follows(connection: Connection[Any]) -> list[Mapping[str, Any]]:
    return connection.execute(_FOLLOW + " ORDER BY follow.id").fetchall()


_HOLDS = """
SELECT FROM follow
JOIN branch ON branch.id = follow.branch_id JOIN tree ON tree.id = tree_id
JOIN branch_revision AS before ON before.branch_id = branch.id JOIN revision AS base ON base.id = before.revision_id
JOIN branch_revision AS after ON after.branch_id = branch.id JOIN revision AS head ON head.id = after.revision_id
WHERE tree.url = %s AND base.commit = %s AND head.commit = %s LIMIT 1
"""


def holds_revisions(connection: Connection[Any], tree: str, base: str, head: str) -> bool:
    """Whether both commits are on one branch of this tree that is followed."""
    return connection.execute(_HOLDS, [tree, base, head]).fetchone() is not None


def due_follows(connection: Connection[Any], before: datetime) -> list[int]:
    rows = connection.execute(
        "SELECT id FROM follow WHERE polled IS NULL OR polled < %s ORDER BY polled NULLS FIRST", [before]
    ).fetchall()
    return [row["id"] for row in rows]


def remove_follow(connection: Connection[Any], number: int) -> bool:
    return connection.execute("DELETE FROM follow WHERE id = %s RETURNING id", [number]).fetchone() is not None


def set_polled(connection: Connection[Any], number: int, now: datetime, *, problem: str | None) -> None:
    connection.execute("UPDATE follow SET polled = %s, problem = %s WHERE id = %s", [now, problem, number])


def set_requested(
    connection: Connection[Any], number: int, *, head: str, requested: str, at: datetime | None, now: datetime
) -> None:
    connection.execute(
        "UPDATE follow SET head_commit = %s, requested_commit = %s, requested = %s, polled = %s, problem = NULL WHERE id = %s",
        [head, requested, at, now, number],
    )
