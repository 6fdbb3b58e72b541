"""The regression reports that gather changes, and triage."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg import Connection

from cliffwatch_service.postgres.rows import the_one, typed, values

ReportState = Literal["new", "acknowledged", "expected", "fixed", "noise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A report: how many changes it gathers that stand, the size of the largest, and their platforms. `merged_into` is the digest of the
    report of the culprit that its range turned out to hold.
    """

    id: int
    digest: str
    state: ReportState
    owner: str | None
    opened: datetime
    updated: datetime
    base: str
    head: str
    subject: str | None
    author: str | None
    changes: int
    largest: float | None
    platforms: list[str] | None
    merged_into: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportBetweenRow:
    """A report, and the commit that is its base."""

    digest: str
    state: ReportState
    base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageRow:
    """What somebody said of a report."""

    at: datetime
    by: str
    state: str
    owner: str | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCountRow:
    """How many reports are in a state."""

    state: ReportState
    reports: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsWanted:
    """Which reports to list, at most `limit`: None leaves open; `at` and `number` are when the report before was opened, and its id."""

    states: Sequence[str] | None = None
    digest: str | None = None
    at: datetime | None = None
    number: int | None = None
    limit: int


def keep_report(connection: Connection[Any], digest: str, base: int, head: int, now: datetime) -> int:
    """The report of a culprit range; a new one where there is none."""
    query = (
        "UPDATE regression_report SET updated = %s WHERE base_revision_id = %s AND head_revision_id = %s AND merged_into IS NULL"
        " RETURNING id"
    )
    known = values(connection, int).execute(query, [now, base, head]).fetchone()
    if known is not None:
        return known
    kept = values(connection, int).execute(
        "INSERT INTO regression_report (digest, base_revision_id, head_revision_id, opened, updated)"
        " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (digest) DO UPDATE SET updated = excluded.updated, merged_into = NULL RETURNING id",
        [digest, base, head, now, now],
    )
    return the_one(kept)


def report_of_range(connection: Connection[Any], base: int, head: int) -> int | None:
    query = (
        "SELECT id FROM regression_report WHERE base_revision_id = %s AND head_revision_id = %s AND merged_into IS NULL"
        " ORDER BY id LIMIT 1"
    )
    return values(connection, int).execute(query, [base, head]).fetchone()


def has_changes(connection: Connection[Any], report_id: int) -> bool:
    """Whether changes that stand belong to a report."""
    query = "SELECT 1 FROM change WHERE report_id = %s AND state <> 'refuted' LIMIT 1"
    return connection.execute(query, [report_id]).fetchone() is not None


def narrow_report(connection: Connection[Any], report_id: int, base: int, head: int, now: datetime) -> None:
    """Gives a report the revisions of its culprit; it stays the report that people know."""
    connection.execute(
        "UPDATE regression_report SET base_revision_id = %s, head_revision_id = %s, updated = %s WHERE id = %s",
        [base, head, now, report_id],
    )


def merge_report(connection: Connection[Any], report_id: int, into: int, now: datetime) -> None:
    connection.execute(
        "UPDATE regression_report SET merged_into = %s, updated = %s WHERE id = %s", [into, now, report_id]
    )


def reports_between(connection: Connection[Any], bases: Sequence[int], head: int) -> list[ReportBetweenRow]:
    """The reports whose culprit lies between one of these revisions and `head`."""
    query = (
        "SELECT digest, state, commit AS base FROM regression_report JOIN revision ON revision.id = base_revision_id"
        " WHERE base_revision_id = ANY(%s) AND head_revision_id = %s ORDER BY regression_report.id"
    )
    return typed(connection, ReportBetweenRow).execute(query, [list(bases), head]).fetchall()


_REPORTS = """
SELECT regression_report.id, regression_report.digest, state, owner, opened, updated, base.commit AS base,
       head.commit AS head, head.subject, head.author, totals.changes, totals.largest, totals.platforms,
       (SELECT digest FROM regression_report AS other WHERE other.id = regression_report.merged_into) AS merged_into
FROM (
    SELECT * FROM regression_report
    WHERE (%(digest)s::text IS NOT NULL OR merged_into IS NULL)
      AND (%(states)s::text[] IS NULL OR state = ANY(%(states)s))
      AND (%(digest)s::text IS NULL OR digest = %(digest)s)
      AND (%(at)s::timestamptz IS NULL OR (opened, id) < (%(at)s, %(number)s))
    ORDER BY opened DESC, id DESC LIMIT %(limit)s
) AS regression_report
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
CROSS JOIN LATERAL (
    SELECT count(*) AS changes, max(abs(size)) AS largest, array_agg(DISTINCT platform) AS platforms
    FROM change JOIN series ON series.id = series_id
    WHERE report_id = regression_report.id AND change.state NOT IN ('refuted', 'superseded')
) AS totals
ORDER BY opened DESC, regression_report.id DESC
"""


def list_reports(connection: Connection[Any], wanted: ReportsWanted) -> list[ReportRow]:
    """Newest first."""
    return (
        typed(connection, ReportRow)
        .execute(
            _REPORTS, {**asdict(wanted), "states": None if wanted.states is None else list(wanted.states)}
        )
        .fetchall()
    )


def set_triage(
    connection: Connection[Any],
    report_id: int,
    *,
    state: ReportState,
    owner: str | None,
    note: str,
    by: str,
    now: datetime,
) -> None:
    connection.execute(
        "UPDATE regression_report SET state = %s, owner = %s, updated = %s WHERE id = %s",
        [state, owner, now, report_id],
    )
    connection.execute(
        "INSERT INTO triage (report_id, at, by, state, owner, note) VALUES (%s, %s, %s, %s, %s, %s)",
        [report_id, now, by, state, owner, note],
    )


def triage_of(connection: Connection[Any], report_id: int) -> list[TriageRow]:
    query = "SELECT at, by, state, owner, note FROM triage WHERE report_id = %s ORDER BY id"
    return typed(connection, TriageRow).execute(query, [report_id]).fetchall()


def report_quality(connection: Connection[Any]) -> dict[ReportState, int]:
    """How many reports there are in each state: the share of noise among those looked at is the inbox's quality."""
    query = "SELECT state, count(*) AS reports FROM regression_report GROUP BY state"
    return {row.state: row.reports for row in typed(connection, ReportCountRow).execute(query).fetchall()}
