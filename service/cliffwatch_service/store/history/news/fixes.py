"""Fixes of reports: who named them, and the improvements of the same series that show them."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor
from cliffwatch_service.store.history.reports import ReportState


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRow:
    """The commit that fixed a report.

    If `base` is not null, the commit is not known yet: it comes after `base`, and is `commit` or before it.
    """

    commit: str
    base: str | None
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
    fix: str | None
    """The commit of its fix; None without one."""
    fix_base: str | None
    """Set if the fix is a range of commits: the commit before it."""
    declined_id: int | None
    """A revision that somebody said does not fix the report, or fixes it whatever measurements show."""
    declined_base_id: int | None
    """Set if the fix was a range of commits: the revision after which it comes."""
    series_id: int
    worse: float | None
    """Size of the regression."""
    worse_low: float | None
    worse_high: float | None
    worse_base: float | None
    worse_head: float | None
    culprit_id: int
    later_base_id: int | None
    later_head_id: int | None
    later_base: str | None
    """Commit."""
    later_head: str | None
    """Commit."""
    later_named: bool | None
    """Whether the other change is of one commit."""
    later_after: int | None
    """Ordinal after which it comes on a branch; None if it is on none."""
    later_until: int | None
    """Ordinal at which it is there at the latest."""
    later: float | None
    """Size of the other change."""
    later_low: float | None
    later_high: float | None
    later_base_value: float | None
    later_head_value: float | None


def fix_of(connection: Connection[Any], report_id: int) -> FixRow | None:
    query = "SELECT commit, base, by, at, verified FROM report_fix WHERE report_id = %s"
    return row_cursor(connection, FixRow).execute(query, [report_id]).fetchone()


def keep_fix(connection: Connection[Any], report_id: int, fix: FixRow) -> None:
    connection.execute(
        "INSERT INTO report_fix (report_id, commit, base, by, at, verified)"
        " VALUES (%(report_id)s, %(commit)s, %(base)s, %(by)s, %(at)s, %(verified)s)"
        " ON CONFLICT (report_id) DO UPDATE SET commit = excluded.commit, base = excluded.base,"
        " by = excluded.by, at = excluded.at, verified = excluded.verified",
        {**asdict(fix), "report_id": report_id},
    )


def remove_fix(connection: Connection[Any], report_id: int) -> None:
    connection.execute("DELETE FROM report_fix WHERE report_id = %s", [report_id])


_LATER = """
SELECT report.id AS report_id, report.digest AS report, report.state, report.owner, known.commit AS fix,
       known.base AS fix_base,
       CASE WHEN NOT known.verified THEN declined.id END AS declined_id,
       CASE WHEN NOT known.verified THEN declined_base.id END AS declined_base_id,
       own.series_id, own.size AS worse, own.ci_low AS worse_low, own.ci_high AS worse_high,
       own.base_value AS worse_base, own.head_value AS worse_head,
       own.head_revision_id AS culprit_id, later.base_revision_id AS later_base_id,
       later.head_revision_id AS later_head_id, base.commit AS later_base, head.commit AS later_head,
       head.parents[1] = base.commit AS later_named, place.after AS later_after, place.until AS later_until,
       later.size AS later, later.ci_low AS later_low, later.ci_high AS later_high,
       later.base_value AS later_base_value, later.head_value AS later_head_value
FROM regression_report AS report
JOIN change AS own ON own.report_id = report.id AND own.kind = 'regression' AND own.state = 'confirmed'
LEFT JOIN report_fix AS known ON known.report_id = report.id
LEFT JOIN revision AS declined ON declined.commit = known.commit
LEFT JOIN revision AS declined_base ON declined_base.commit = known.base
LEFT JOIN change AS later ON later.series_id = own.series_id AND later.state = 'confirmed'
    AND later.id <> own.id
    AND later.kind IN ('improvement', 'regression')
LEFT JOIN revision AS base ON base.id = later.base_revision_id
LEFT JOIN revision AS head ON head.id = later.head_revision_id
LEFT JOIN LATERAL (
    SELECT coalesce(first.ordinal, last.ordinal - 1) AS after, last.ordinal AS until
    FROM branch_revision AS last LEFT JOIN branch_revision AS first ON first.branch_id = last.branch_id
        AND first.revision_id = later.base_revision_id AND later.landed_revision_id IS NULL
    WHERE last.revision_id = coalesce(later.landed_revision_id, later.head_revision_id)
    ORDER BY last.branch_id LIMIT 1
) AS place ON true
WHERE (report.state IN ('new', 'acknowledged') AND EXISTS (
        SELECT FROM change AS better WHERE better.series_id = own.series_id AND better.kind = 'improvement'
        AND better.state = 'confirmed'))
   OR (report.state = 'fixed' AND known.verified)
ORDER BY report.id, own.series_id, place.until NULLS FIRST, place.after, later.id
"""


def later_changes(connection: Connection[Any]) -> list[LaterChangeRow]:
    """Returns every regression of a report with every other confirmed change of its series, oldest first.

    Covers open reports with series that improved again, and reports that were closed because of that.
    """
    return row_cursor(connection, LaterChangeRow).execute(_LATER).fetchall()
