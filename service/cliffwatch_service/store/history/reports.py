"""Regression reports, which gather changes, and their triage."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, cast

from psycopg import Connection

from cliffwatch_service.postgres.rows import fetch_single_row, pairs, row_cursor, values

ReportState = Literal["new", "acknowledged", "expected", "fixed", "noise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A report."""

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
    """Number of its changes that are neither refuted nor superseded."""
    largest: float | None
    """Size of the largest of these changes."""
    platforms: list[str] | None
    """Platforms of these changes."""
    merged_into: str | None
    """Digest of the report about the culprit that was found in its range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportBetweenRow:
    """A report and its base."""

    digest: str
    state: ReportState
    base: str
    """Commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageRow:
    """An entry of a report's triage."""

    at: datetime
    by: str
    state: str
    owner: str | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsWanted:
    """Which reports to list. None leaves a filter open."""

    states: Sequence[str] | None = None
    digest: str | None = None
    at: datetime | None = None
    """When the report before the first of the list was opened."""
    number: int | None = None
    """Id of the report before the first of the list."""
    limit: int


def keep_report(connection: Connection[Any], digest: str, base: int, head: int, now: datetime) -> int | None:
    """Returns the id of the report of a culprit range, and opens one if there is none.

    None if the digest is that of a report whose range is another one by now.
    """
    query = (
        "UPDATE regression_report SET updated = %s WHERE base_revision_id = %s AND head_revision_id = %s"
        " AND merged_into IS NULL"
        " RETURNING id"
    )
    known = values(connection, int).execute(query, [now, base, head]).fetchone()
    if known is not None:
        return known
    kept = values(connection, int).execute(
        "INSERT INTO regression_report AS kept (digest, base_revision_id, head_revision_id, opened, updated)"
        " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (digest) DO UPDATE SET updated = excluded.updated,"
        " merged_into = NULL WHERE (kept.base_revision_id, kept.head_revision_id)"
        " = (excluded.base_revision_id, excluded.head_revision_id) RETURNING id",
        [digest, base, head, now, now],
    )
    return kept.fetchone()


def report_of_range(connection: Connection[Any], base: int, head: int) -> int | None:
    query = (
        "SELECT id FROM regression_report WHERE base_revision_id = %s AND head_revision_id = %s"
        " AND merged_into IS NULL"
        " ORDER BY id LIMIT 1"
    )
    return values(connection, int).execute(query, [base, head]).fetchone()


def report_of_culprit(connection: Connection[Any], commit: str) -> str | None:
    """Returns the digest of the newest report whose head is this commit."""
    query = (
        "SELECT regression_report.digest FROM regression_report"
        " JOIN revision ON revision.id = head_revision_id"
        " WHERE commit = %s AND merged_into IS NULL ORDER BY regression_report.id DESC LIMIT 1"
    )
    return values(connection, str).execute(query, [commit]).fetchone()


def has_regressions(connection: Connection[Any], report_id: int) -> bool:
    """Whether a report has a confirmed regression."""
    query = (
        "SELECT 1 FROM change WHERE report_id = %s AND state = 'confirmed' AND kind = 'regression' LIMIT 1"
    )
    return connection.execute(query, [report_id]).fetchone() is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedReportRow:
    """A report and whoever owns it."""

    id: int
    owner: str | None


def open_reports_without_regressions(connection: Connection[Any]) -> list[OwnedReportRow]:
    """Returns open reports without a confirmed regression: refuted, superseded, or an improvement by now."""
    query = (
        "SELECT id, owner FROM regression_report WHERE merged_into IS NULL"
        " AND state IN ('new', 'acknowledged')"
        " AND NOT EXISTS (SELECT 1 FROM change WHERE report_id = regression_report.id"
        " AND kind = 'regression' AND change.state = 'confirmed') ORDER BY id"
    )
    return row_cursor(connection, OwnedReportRow).execute(query).fetchall()


def withdrawn_reports_with_regressions(connection: Connection[Any], by: str) -> list[OwnedReportRow]:
    """Returns reports that `by` closed as noise, and whose regressions are confirmed again."""
    query = (
        "SELECT id, owner FROM regression_report WHERE merged_into IS NULL AND state = 'noise'"
        " AND (SELECT triage.by FROM triage WHERE report_id = regression_report.id ORDER BY triage.id DESC"
        " LIMIT 1) = %s"
        " AND EXISTS (SELECT 1 FROM change WHERE report_id = regression_report.id"
        " AND kind = 'regression' AND change.state = 'confirmed') ORDER BY id"
    )
    return row_cursor(connection, OwnedReportRow).execute(query, [by]).fetchall()


def narrow_report(connection: Connection[Any], report_id: int, base: int, head: int, now: datetime) -> None:
    """Gives a report the revisions of its culprit. People still see it as the same report."""
    connection.execute(
        "UPDATE regression_report SET base_revision_id = %s, head_revision_id = %s, updated = %s"
        " WHERE id = %s",
        [base, head, now, report_id],
    )


def merge_report(connection: Connection[Any], report_id: int, into: int, now: datetime) -> None:
    connection.execute(
        "UPDATE regression_report SET merged_into = %s, updated = %s WHERE id = %s", [into, now, report_id]
    )


def reports_between(connection: Connection[Any], bases: Sequence[int], head: int) -> list[ReportBetweenRow]:
    """Returns the reports with `head` and one of `bases` as their ends."""
    query = (
        "SELECT digest, state, commit AS base FROM regression_report"
        " JOIN revision ON revision.id = base_revision_id"
        " WHERE base_revision_id = ANY(%s) AND head_revision_id = %s ORDER BY regression_report.id"
    )
    return row_cursor(connection, ReportBetweenRow).execute(query, [list(bases), head]).fetchall()


_REPORTS = """
SELECT regression_report.id, regression_report.digest, state, owner, opened, updated, base.commit AS base,
       head.commit AS head, head.subject, head.author, totals.changes, totals.largest, totals.platforms,
       (SELECT digest FROM regression_report AS other
           WHERE other.id = regression_report.merged_into) AS merged_into
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
    """Returns reports, newest first."""
    return (
        row_cursor(connection, ReportRow)
        .execute(
            _REPORTS, {**asdict(wanted), "states": None if wanted.states is None else list(wanted.states)}
        )
        .fetchall()
    )


def count_reports(connection: Connection[Any], states: Sequence[str]) -> int:
    """Returns how many reports are in these states, as `list_reports` lists them."""
    query = "SELECT count(*) FROM regression_report WHERE merged_into IS NULL AND state = ANY(%s)"
    return fetch_single_row(values(connection, int).execute(query, [list(states)]))


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
    return row_cursor(connection, TriageRow).execute(query, [report_id]).fetchall()


def report_quality(connection: Connection[Any]) -> dict[ReportState, int]:
    """Returns how many reports are in each state, as `list_reports` lists them.

    The share of noise among the triaged ones measures the quality.
    """
    query = (
        "SELECT state, count(*) AS reports FROM regression_report WHERE merged_into IS NULL GROUP BY state"
    )
    counts = pairs(connection, str, int).execute(query).fetchall()
    return cast("dict[ReportState, int]", dict(counts))
