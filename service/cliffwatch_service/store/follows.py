"""Followed branches."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values

Policy = Literal["commit", "affected", "push", "nightly"]

ASKER = "follow"
"""Name under which followed branches ask. Its token has no secret, so nobody can hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowFacts:
    """A branch to follow."""

    tree: str
    branch: str
    policy: Policy
    targets: Sequence[Sequence[str]]
    """Pairs of platform and mode."""
    suites: Sequence[str]
    profile: str
    anchor: str | None = None
    """A full commit, a tag or `none`; None leaves a stored anchor as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowRow:
    """A followed branch."""

    id: int
    branch_id: int
    tree: str
    branch: str
    policy: Policy
    targets: list[list[str]]
    """Pairs of platform and mode."""
    suites: list[str]
    profile: str
    head_commit: str | None
    """Head at the last look."""
    requested_commit: str | None
    """The last commit that was requested."""
    polled: datetime | None
    """When it was last looked at."""
    requested: datetime | None
    """When something was last requested."""
    problem: str | None
    """Why the last look failed; None if it did not."""
    backlog: int
    """Number of commits in ranges that are measured later."""
    anchor: str | None
    anchor_commit: str | None
    anchor_problem: str | None
    """Why it is measured without its anchor at present."""
    anchor_failure: str | None
    """Why the anchor gave no results in the newest run that had it."""


def keep_follow(connection: Connection[Any], branch_id: int, row: FollowFacts) -> int:
    stored = values(connection, int).execute(
        _KEEP,
        [
            branch_id,
            row.policy,
            Jsonb([list(target) for target in row.targets]),
            list(row.suites),
            row.profile,
            row.anchor,
        ],
    )
    return fetch_single_row(stored)


_KEEP = """
INSERT INTO follow (branch_id, policy, targets, suites, profile, anchor) VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (branch_id, policy) DO UPDATE SET targets = excluded.targets, suites = excluded.suites,
    profile = excluded.profile, polled = NULL, anchor = coalesce(excluded.anchor, follow.anchor),
    anchor_commit = CASE WHEN excluded.anchor IS NULL OR excluded.anchor = follow.anchor
        THEN follow.anchor_commit END, anchor_problem = NULL
RETURNING id
"""


_FOLLOW = """
SELECT follow.id, branch_id, tree.url AS tree, branch.name AS branch, policy, targets, suites, profile,
    head_commit, requested_commit, polled, requested, problem,
       (SELECT coalesce(sum(commits), 0)::bigint FROM backlog WHERE follow_id = follow.id) AS backlog,
       anchor, anchor_commit, anchor_problem,
       (SELECT arm.failure ->> 'message' FROM revision JOIN arm ON arm.revision_id = revision.id
           JOIN run ON run.id = arm.run_id
        WHERE revision.commit = anchor_commit AND arm.name = 'anchor' AND run.of_history
        ORDER BY run.id DESC LIMIT 1) AS anchor_failure
FROM follow JOIN branch ON branch.id = branch_id JOIN tree ON tree.id = tree_id
"""


def follow_row(connection: Connection[Any], number: int, *, lock: bool = False) -> FollowRow | None:
    query = _FOLLOW + " WHERE follow.id = %s" + (" FOR UPDATE OF follow" if lock else "")
    return row_cursor(connection, FollowRow).execute(query, [number]).fetchone()


def list_follows(connection: Connection[Any]) -> list[FollowRow]:
    return row_cursor(connection, FollowRow).execute(_FOLLOW + " ORDER BY follow.id").fetchall()


_HOLDS = """
SELECT FROM follow
JOIN branch ON branch.id = follow.branch_id JOIN tree ON tree.id = tree_id
JOIN branch_revision AS before ON before.branch_id = branch.id
JOIN revision AS base ON base.id = before.revision_id
JOIN branch_revision AS after ON after.branch_id = branch.id
JOIN revision AS head ON head.id = after.revision_id
WHERE tree.url = %s AND base.commit = %s AND head.commit = %s LIMIT 1
"""


def holds_revisions(connection: Connection[Any], tree: str, base: str, head: str) -> bool:
    """Whether both commits are on one followed branch of this tree."""
    return connection.execute(_HOLDS, [tree, base, head]).fetchone() is not None


def due_follows(connection: Connection[Any], before: datetime) -> list[int]:
    query = "SELECT id FROM follow WHERE polled IS NULL OR polled < %s ORDER BY polled NULLS FIRST"
    return values(connection, int).execute(query, [before]).fetchall()


def remove_follow(connection: Connection[Any], number: int) -> bool:
    return (
        connection.execute("DELETE FROM follow WHERE id = %s RETURNING id", [number]).fetchone() is not None
    )


def set_polled(connection: Connection[Any], number: int, now: datetime, *, problem: str | None) -> None:
    connection.execute("UPDATE follow SET polled = %s, problem = %s WHERE id = %s", [now, problem, number])


def set_requested(
    connection: Connection[Any], number: int, *, head: str, requested: str, at: datetime | None, now: datetime
) -> None:
    connection.execute(
        "UPDATE follow SET head_commit = %s, requested_commit = %s, requested = %s, polled = %s,"
        " problem = NULL WHERE id = %s",
        [head, requested, at, now, number],
    )


def set_anchor(connection: Connection[Any], number: int, commit: str | None, problem: str | None) -> None:
    connection.execute(
        "UPDATE follow SET anchor_commit = %s, anchor_problem = %s WHERE id = %s", [commit, problem, number]
    )
