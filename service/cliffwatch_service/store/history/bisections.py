"""Bisections of confirmed changes, and the pairs of revisions that each compared."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg import Connection

from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values

StepState = Literal["asked", "measured", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRow:
    """A range of a followed branch with confirmed changes on one platform in one mode."""

    branch_id: int
    platform: str
    mode: Mode
    base_revision_id: int
    head_revision_id: int
    suites: list[str]
    """Suites of the changed cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionRow:
    """An open bisection."""

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
    suites: list[str]
    reason: str | None
    """Why it does not continue; None if nothing stops it."""
    looked: datetime | None
    """When it was last looked at."""
    made: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A pair of revisions that a bisection compares."""

    id: int
    platform: str
    mode: Mode
    base: str
    head: str
    state: StepState
    boots: str
    request_id: UUID | None
    comparison_id: int | None
    reason: str | None
    asked: datetime


_RANGES = """
SELECT after.branch_id, series.platform, series.mode, base_revision_id, head_revision_id,
       array_agg(DISTINCT suite ORDER BY suite) AS suites
FROM change JOIN series ON series.id = series_id JOIN benchmark_case ON benchmark_case.id = case_id
JOIN branch_revision AS before ON before.revision_id = base_revision_id
JOIN branch_revision AS after ON after.revision_id = head_revision_id AND after.branch_id = before.branch_id
JOIN revision AS head ON head.id = head_revision_id
WHERE change.state = 'confirmed' AND bisection_id IS NULL
    AND EXISTS (SELECT FROM follow WHERE branch_id = after.branch_id)
  AND (after.ordinal > before.ordinal + 1 OR (after.ordinal = before.ordinal + 1
      AND cardinality(head.parents) > 1))
  AND NOT EXISTS (SELECT FROM bisection AS other
      WHERE other.branch_id = after.branch_id AND other.platform = series.platform
      AND other.mode = series.mode AND other.base_revision_id = change.base_revision_id
      AND other.head_revision_id = change.head_revision_id)
GROUP BY 1, 2, 3, 4, 5 ORDER BY min(change.id)
"""


def unbisected_ranges(connection: Connection[Any]) -> list[RangeRow]:
    """Returns ranges of more than one commit, on the branch or in a merge, that have no bisection."""
    return row_cursor(connection, RangeRow).execute(_RANGES).fetchall()


def insert_bisection(connection: Connection[Any], row: RangeRow, now: datetime) -> int:
    stored = values(connection, int).execute(
        "INSERT INTO bisection (branch_id, platform, mode, base_revision_id, head_revision_id, suites, made)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
        [
            row.branch_id,
            row.platform,
            row.mode,
            row.base_revision_id,
            row.head_revision_id,
            row.suites,
            now,
        ],
    )
    return fetch_single_row(stored)


_BISECTIONS = """
SELECT bisection.id, bisection.branch_id, tree.url AS tree, branch.name AS branch, followed.profile, platform,
    mode,
       base_revision_id, head_revision_id, base.commit AS base, head.commit AS head, bisection.suites, reason,
           looked, made
FROM bisection JOIN branch ON branch.id = bisection.branch_id JOIN tree ON tree.id = tree_id
JOIN LATERAL (SELECT profile FROM follow WHERE follow.branch_id = branch.id ORDER BY id LIMIT 1) AS followed
    ON true
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
WHERE bisection.state = 'open' ORDER BY bisection.id
"""


def open_bisections(connection: Connection[Any]) -> list[BisectionRow]:
    """Returns the open bisections of followed branches, oldest first."""
    return row_cursor(connection, BisectionRow).execute(_BISECTIONS).fetchall()


def steps_of(connection: Connection[Any], bisection_id: int) -> list[StepRow]:
    """Returns the steps of a bisection in the order of their requests."""
    query = (
        "SELECT bisection_step.id, platform, mode, base.commit AS base, head.commit AS head, state, boots,"
        " request_id, comparison_id,"
        " reason, asked FROM bisection_step JOIN revision AS base ON base.id = base_revision_id"
        " JOIN revision AS head ON head.id = head_revision_id WHERE bisection_id = %s"
        " ORDER BY bisection_step.id"
    )
    return row_cursor(connection, StepRow).execute(query, [bisection_id]).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStep:
    """A pair of revisions to compare, or already compared, on a platform in a mode."""

    platform: str
    mode: Mode
    base_revision_id: int
    head_revision_id: int
    state: StepState
    boots: str
    request_id: UUID | None
    comparison_id: int | None


def insert_step(connection: Connection[Any], bisection_id: int, step: NewStep, now: datetime) -> None:
    connection.execute(
        "INSERT INTO bisection_step (bisection_id, platform, mode, base_revision_id, head_revision_id,"
        " state, boots, request_id, comparison_id, asked) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            bisection_id,
            step.platform,
            step.mode,
            step.base_revision_id,
            step.head_revision_id,
            step.state,
            step.boots,
            step.request_id,
            step.comparison_id,
            now,
        ],
    )


def end_step(
    connection: Connection[Any],
    step_id: int,
    state: StepState,
    *,
    comparison_id: int | None,
    reason: str | None,
    now: datetime,
) -> None:
    connection.execute(
        "UPDATE bisection_step SET state = %s, comparison_id = %s, reason = %s, ended = %s"
        " WHERE id = %s AND state = 'asked'",
        [state, comparison_id, reason, now, step_id],
    )


def set_looked(connection: Connection[Any], bisection_id: int, reason: str | None, now: datetime) -> None:
    connection.execute(
        "UPDATE bisection SET reason = %s, looked = %s WHERE id = %s", [reason, now, bisection_id]
    )


def end_bisection(connection: Connection[Any], bisection_id: int, reason: str | None, now: datetime) -> None:
    connection.execute(
        "UPDATE bisection SET state = 'done', reason = %s, ended = %s WHERE id = %s",
        [reason, now, bisection_id],
    )


_ASKS_FOR = """
SELECT 1 FROM bisection_step JOIN bisection ON bisection.id = bisection_id JOIN follow USING (branch_id)
WHERE request_id = %s
"""


def asks_for(connection: Connection[Any], request: UUID) -> bool:
    """Whether a request is a step of a bisection on a followed branch."""
    return connection.execute(_ASKS_FOR, [request]).fetchone() is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportBisectionRow:
    """A bisection of a report's changes."""

    platform: str
    mode: Mode
    state: str
    why: str | None
    """In which mode it continues, and why; None for a bisection in icount."""


_OF_REPORT = """
SELECT platform, mode, bisection.state, why FROM bisection
WHERE EXISTS (SELECT FROM change WHERE bisection_id = bisection.id AND report_id = %(report)s
    AND change.state = 'confirmed')
   OR EXISTS (SELECT FROM regression_report AS report
       WHERE report.id = %(report)s AND bisection.state = 'open'
              AND report.base_revision_id = bisection.base_revision_id
                  AND report.head_revision_id = bisection.head_revision_id)
ORDER BY bisection.id
"""


def bisections_of_report(connection: Connection[Any], report_id: int) -> list[ReportBisectionRow]:
    """Returns the bisections that named a report's commits, and the open ones between its revisions."""
    return row_cursor(connection, ReportBisectionRow).execute(_OF_REPORT, {"report": report_id}).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionShownRow:
    """A bisection in a list."""

    id: int
    branch: str
    platform: str
    mode: Mode
    base: str
    head: str
    state: str
    why: str | None
    reason: str | None
    made: datetime
    ended: datetime | None
    steps: int
    """Number of pairs that it requested."""
    skipped: int
    """Number of skipped pairs among them."""
    waiting: UUID | None
    """The request that it waits for."""
    named: list[str]
    """The commits that it found."""


_SHOWN = """
SELECT bisection.id, branch.name AS branch, platform, mode, base.commit AS base, head.commit AS head,
    bisection.state, why, reason, made,
       ended, (SELECT count(*) FROM bisection_step WHERE bisection_id = bisection.id) AS steps,
       (SELECT count(*) FROM bisection_step AS step
           WHERE bisection_id = bisection.id AND step.state = 'skipped') AS skipped,
       (SELECT request_id FROM bisection_step AS step
           WHERE bisection_id = bisection.id AND step.state = 'asked') AS waiting,
       ARRAY(SELECT DISTINCT culprit.commit FROM change
           JOIN revision AS culprit ON culprit.id = change.head_revision_id
             WHERE bisection_id = bisection.id AND change.state = 'confirmed' ORDER BY 1) AS named
FROM bisection JOIN branch ON branch.id = branch_id
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
ORDER BY bisection.state = 'open' DESC, bisection.id DESC LIMIT %s
"""


def list_bisections(connection: Connection[Any], limit: int) -> list[BisectionShownRow]:
    """Returns bisections: first the open ones, then the others, newest first in each group."""
    return row_cursor(connection, BisectionShownRow).execute(_SHOWN, [limit]).fetchall()
