"""Fixes of reports: who named them, and the improvements of the same series that show them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor
from cliffwatch_service.store.history.reports import ReportState


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRow:
    """The commit that fixed a report."""

    commit: str
    by: str
    at: datetime
    verified: bool
    """Whether measurements show that the old level is back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterChangeRow:
    """A regression of a report, with another confirmed change of its series.

    The fields from `later_base_id` on are None if the series has no other change. Changes without a
    percentage have the values of both sides in place of their size.
    """

    report_id: int
    report: str
    state: ReportState
    owner: str | None
    declined: str | None
    """A commit that somebody said does not fix the report, or fixes it whatever measurements show."""
    series_id: int
    worse: float | None
    """Size of the regression."""
    worse_low: float | None
    worse_high: float | None
    worse_base: float | None
    worse_head: float | None
    culprit_id: int
    later_base_id: int | None
    later_head: str | None
    later: float | None
    """Size of the other change."""
    later_low: float | None
    later_high: float | None
    later_base_value: float | None
    later_head_value: float | None


def fix_of(connection: Connection[Any], report_id: int) -> FixRow | None:
    query = "SELECT commit, by, at, verified FROM report_fix WHERE report_id = %s"
    return row_cursor(connection, FixRow).execute(query, [report_id]).fetchone()


def keep_fix(
    connection: Connection[Any], report_id: int, commit: str, *, by: str, verified: bool, now: datetime
) -> None:
    connection.execute(
        "INSERT INTO report_fix (report_id, commit, by, at, verified) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (report_id) DO UPDATE SET commit = excluded.commit, by = excluded.by, at = excluded.at,"
        " verified = excluded.verified",
        [report_id, commit, by, now, verified],
    )


def remove_fix(connection: Connection[Any], report_id: int) -> None:
    connection.execute("DELETE FROM report_fix WHERE report_id = %s", [report_id])


_LATER = """
SELECT report.id AS report_id, report.digest AS report, report.state, report.owner,
       (SELECT commit FROM report_fix WHERE report_id = report.id AND NOT verified) AS declined,
           own.series_id, own.size AS worse, own.ci_low AS worse_low, own.ci_high AS worse_high,
       own.base_value AS worse_base, own.head_value AS worse_head,
       own.head_revision_id AS culprit_id, later.base_revision_id AS later_base_id,
       head.commit AS later_head, later.size AS later, later.ci_low AS later_low, later.ci_high AS later_high,
       later.base_value AS later_base_value, later.head_value AS later_head_value
FROM regression_report AS report
JOIN change AS own ON own.report_id = report.id AND own.kind = 'regression' AND own.state = 'confirmed'
LEFT JOIN change AS later ON later.series_id = own.series_id AND later.state = 'confirmed'
    AND later.id <> own.id
    AND later.kind IN ('improvement', 'regression')
LEFT JOIN revision AS head ON head.id = later.head_revision_id
WHERE (report.state IN ('new', 'acknowledged') AND EXISTS (
        SELECT FROM change AS better WHERE better.series_id = own.series_id AND better.kind = 'improvement'
        AND better.state = 'confirmed'))
   OR (report.state = 'fixed' AND EXISTS (SELECT FROM report_fix WHERE report_id = report.id AND verified))
ORDER BY report.id, own.series_id, later.id
"""


def later_changes(connection: Connection[Any]) -> list[LaterChangeRow]:
    """Returns every regression of a report with every other confirmed change of its series.

    Covers open reports with series that improved again, and reports that were closed because of that.
    """
    return row_cursor(connection, LaterChangeRow).execute(_LATER).fetchall()
