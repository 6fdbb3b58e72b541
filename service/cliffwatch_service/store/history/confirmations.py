"""Confirmations: fresh comparisons that confirm or refute candidates."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg import Connection

from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values

ConfirmationState = Literal["waiting", "asked", "answered", "unanswered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationRow:
    """A fresh comparison on one platform in one mode."""

    id: int
    branch_id: int
    tree: str
    branch: str
    profile: str
    platform: str
    mode: Mode
    base_revision_id: int
    head_revision_id: int
    base: str
    head: str
    base_ordinal: int
    """Place of base on the branch."""
    head_ordinal: int
    """Place of head on the branch."""
    suites: list[str]
    state: ConfirmationState
    attempts: int
    boots: int | None
    """Boots of each arm of a second comparison, if a first one left candidates open; else None."""
    request_id: UUID | None
    reason: str | None
    made: datetime
    candidates: int
    """Number of candidates that wait for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewConfirmation:
    """A range of a branch to compare afresh on a platform in a mode."""

    branch_id: int
    platform: str
    mode: Mode
    base_revision_id: int
    head_revision_id: int
    suites: Sequence[str]


_OPEN = """
SELECT confirmation.id, confirmation.branch_id, tree.url AS tree, branch.name AS branch, followed.profile,
    confirmation.platform,
       confirmation.mode, base_revision_id, head_revision_id, base.commit AS base, head.commit AS head,
       before.ordinal AS base_ordinal, after.ordinal AS head_ordinal, confirmation.suites, confirmation.state,
           attempts, confirmation.boots, request_id, reason, made,
       (SELECT count(*) FROM change WHERE confirmation_id = confirmation.id
           AND change.state = 'candidate') AS candidates
FROM confirmation
JOIN branch ON branch.id = confirmation.branch_id JOIN tree ON tree.id = tree_id
JOIN LATERAL (SELECT profile FROM follow WHERE follow.branch_id = branch.id ORDER BY id LIMIT 1) AS followed
    ON true
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
JOIN branch_revision AS before ON before.branch_id = branch.id AND before.revision_id = base_revision_id
JOIN branch_revision AS after ON after.branch_id = branch.id AND after.revision_id = head_revision_id
WHERE confirmation.ended IS NULL
"""
"""Only of followed branches, and of revisions that are still on them."""


def open_confirmations(connection: Connection[Any], branch_id: int | None = None) -> list[ConfirmationRow]:
    """Returns the confirmations without an answer, oldest first. `branch_id` None leaves the branch open."""
    query = (
        _OPEN + " AND (%(branch)s::int IS NULL OR confirmation.branch_id = %(branch)s)"
        " ORDER BY made, confirmation.id"
    )
    return row_cursor(connection, ConfirmationRow).execute(query, {"branch": branch_id}).fetchall()


def keep_confirmation(connection: Connection[Any], row: NewConfirmation, now: datetime) -> int:
    stored = values(connection, int).execute(
        "INSERT INTO confirmation (branch_id, platform, mode, base_revision_id, head_revision_id, suites,"
        " made)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
        [
            row.branch_id,
            row.platform,
            row.mode,
            row.base_revision_id,
            row.head_revision_id,
            sorted(row.suites),
            now,
        ],
    )
    return fetch_single_row(stored)


def widen_confirmation(
    connection: Connection[Any], identity: int, *, base: int, head: int, suites: Sequence[str]
) -> None:
    """Gives another range and other suites to a confirmation that was not requested yet."""
    connection.execute(
        "UPDATE confirmation SET base_revision_id = %s, head_revision_id = %s, suites = %s WHERE id = %s",
        [base, head, sorted(suites), identity],
    )


def set_asked(connection: Connection[Any], ids: Sequence[int], request: UUID) -> None:
    connection.execute(
        "UPDATE confirmation SET state = 'asked', attempts = attempts + 1, request_id = %s"
        " WHERE id = ANY(%s)",
        [request, list(ids)],
    )


def set_waiting(connection: Connection[Any], identity: int, reason: str, boots: int | None) -> None:
    """Marks a confirmation to be requested again.

    `boots` is set if a first comparison left something open.
    """
    connection.execute(
        "UPDATE confirmation SET state = 'waiting', reason = %s, boots = %s WHERE id = %s",
        [reason, boots, identity],
    )


def end_confirmation(
    connection: Connection[Any],
    identity: int,
    state: ConfirmationState,
    *,
    comparison_id: int | None,
    reason: str | None,
    now: datetime,
) -> None:
    connection.execute(
        "UPDATE confirmation SET state = %s, comparison_id = %s, reason = %s, ended = %s WHERE id = %s",
        [state, comparison_id, reason, now, identity],
    )


_ASKED_BY_WATCHING = """
SELECT 1 FROM job
WHERE run_id = %(run)s AND (EXISTS (SELECT FROM confirmation WHERE request_id = job.request_id)
                            OR EXISTS (SELECT FROM bisection_step WHERE request_id = job.request_id))
"""


def asked_by_watching(connection: Connection[Any], run_id: int) -> bool:
    """Whether a run answers a confirmation or a step of a bisection."""
    return connection.execute(_ASKED_BY_WATCHING, {"run": run_id}).fetchone() is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedJobRow:
    """The job of a request on one platform in one mode."""

    state: str
    reason: str | None
    run: str | None
    """Digest of its run; None until it has one."""


def job_of_ask(connection: Connection[Any], request: UUID, platform: str, mode: str) -> AskedJobRow | None:
    query = (
        "SELECT job.state, job.reason, run.digest AS run FROM job LEFT JOIN run ON run.id = run_id"
        " WHERE request_id = %s AND job.platform = %s AND job.mode = %s"
    )
    return row_cursor(connection, AskedJobRow).execute(query, [request, platform, mode]).fetchone()
