"""Changes, the regression reports that gather them, and triage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A step of a series between two revisions; `kind` is one of the verdicts that report a change or, from history alone, step."""

    digest: str
    series_id: int
    base_revision_id: int
    head_revision_id: int
    state: str
    kind: str
    size: float
    ci_low: float | None
    ci_high: float | None
    comparison_id: int | None
    report_id: int | None


def keep_report(connection: Connection[Any], digest: str, base: int, head: int, now: datetime) -> int:
    """The report of a culprit range; a new one where there is none."""
    row = connection.execute(
        "INSERT INTO regression_report (digest, base_revision_id, head_revision_id, opened, updated)"
        " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (digest) DO UPDATE SET updated = excluded.updated RETURNING id",
        [digest, base, head, now, now],
    ).fetchone()
    assert row is not None
    return int(row["id"])


_CHANGE = """
INSERT INTO change (digest, series_id, base_revision_id, head_revision_id, state, kind, size, ci_low, ci_high, comparison_id,
                    report_id, found)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (digest) DO UPDATE SET state = excluded.state, kind = excluded.kind, size = excluded.size,
    ci_low = excluded.ci_low, ci_high = excluded.ci_high, comparison_id = excluded.comparison_id,
    report_id = coalesce(excluded.report_id, change.report_id)
"""


def keep_changes(connection: Connection[Any], changes: Sequence[ChangeRow], now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            _CHANGE,
            [
                (
                    each.digest,
                    each.series_id,
                    each.base_revision_id,
                    each.head_revision_id,
                    each.state,
                    each.kind,
                    each.size,
                    each.ci_low,
                    each.ci_high,
                    each.comparison_id,
                    each.report_id,
                    now,
                )
                for each in changes
            ],
        )


def changes_of_comparison(connection: Connection[Any], comparison_id: int) -> list[Mapping[str, Any]]:
    return connection.execute(
        "SELECT id, digest, series_id FROM change WHERE comparison_id = %s", [comparison_id]
    ).fetchall()


def refute_changes(connection: Connection[Any], ids: Sequence[int]) -> None:
    connection.execute("UPDATE change SET state = 'refuted' WHERE id = ANY(%s)", [list(ids)])


_CHANGES = """
SELECT change.id, change.digest, change.state, kind, size, ci_low, ci_high, found, series.digest AS series, suite, benchmark,
       params, metric, unit, platform, mode, base.commit AS base, head.commit AS head, head.subject AS head_subject,
       regression_report.digest AS report
FROM change
JOIN series ON series.id = series_id JOIN benchmark_case ON benchmark_case.id = case_id
JOIN revision AS base ON base.id = change.base_revision_id JOIN revision AS head ON head.id = change.head_revision_id
LEFT JOIN regression_report ON regression_report.id = report_id
"""

_LIST_CHANGES = (
    _CHANGES
    + """
WHERE (%(series)s::int IS NULL OR series_id = %(series)s)
  AND (%(state)s::text IS NULL OR change.state = %(state)s)
  AND (%(at)s::timestamptz IS NULL OR (found, change.id) < (%(at)s, %(id)s))
ORDER BY found DESC, change.id DESC LIMIT %(limit)s
"""
)


def list_changes(connection: Connection[Any], wanted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return connection.execute(_LIST_CHANGES, wanted).fetchall()


def changes_of_report(connection: Connection[Any], report_id: int) -> list[Mapping[str, Any]]:
    return connection.execute(
        _CHANGES + " WHERE report_id = %s ORDER BY abs(size) DESC, change.id", [report_id]
    ).fetchall()


def changes_of_reports(connection: Connection[Any], digests: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
    """By the digest of their report, the largest first."""
    rows = connection.execute(
        _CHANGES + " WHERE regression_report.digest = ANY(%s) ORDER BY abs(size) DESC, change.id", [list(digests)]
    ).fetchall()
    by_report: dict[str, list[Mapping[str, Any]]] = {digest: [] for digest in digests}
    for row in rows:
        by_report[row["report"]].append(row)
    return by_report


def reports_between(connection: Connection[Any], bases: Sequence[int], head: int) -> list[Mapping[str, Any]]:
    """The reports whose culprit lies between one of these revisions and `head`: digest, state and base's commit."""
    return connection.execute(
        "SELECT digest, state, commit AS base FROM regression_report JOIN revision ON revision.id = base_revision_id"
        " WHERE base_revision_id = ANY(%s) AND head_revision_id = %s ORDER BY regression_report.id",
        [list(bases), head],
    ).fetchall()


_REPORTS = """
SELECT regression_report.id, regression_report.digest, state, owner, opened, updated, base.commit AS base,
       head.commit AS head, head.subject, head.author, totals.changes, totals.largest, totals.platforms
FROM (
    SELECT * FROM regression_report
    WHERE (%(states)s::text[] IS NULL OR state = ANY(%(states)s))
      AND (%(digest)s::text IS NULL OR digest = %(digest)s)
      AND (%(at)s::timestamptz IS NULL OR (opened, id) < (%(at)s, %(id)s))
    ORDER BY opened DESC, id DESC LIMIT %(limit)s
) AS regression_report
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
CROSS JOIN LATERAL (
    SELECT count(*) AS changes, max(abs(size)) AS largest, array_agg(DISTINCT platform) AS platforms
    FROM change JOIN series ON series.id = series_id
    WHERE report_id = regression_report.id AND change.state <> 'refuted'
) AS totals
ORDER BY opened DESC, regression_report.id DESC
"""


def list_reports(connection: Connection[Any], wanted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Newest first; `wanted` has states, digest, limit, and the position to go on from as `at` and `id`."""
    return connection.execute(_REPORTS, wanted).fetchall()


def set_triage(
    connection: Connection[Any], report_id: int, *, state: str, owner: str | None, note: str, by: str, now: datetime
) -> None:
    connection.execute(
        "UPDATE regression_report SET state = %s, owner = %s, updated = %s WHERE id = %s",
        [state, owner, now, report_id],
    )
    connection.execute(
        "INSERT INTO triage (report_id, at, by, state, owner, note) VALUES (%s, %s, %s, %s, %s, %s)",
        [report_id, now, by, state, owner, note],
    )


def triage_of(connection: Connection[Any], report_id: int) -> list[Mapping[str, Any]]:
    return connection.execute(
        "SELECT at, by, state, owner, note FROM triage WHERE report_id = %s ORDER BY id", [report_id]
    ).fetchall()


def report_quality(connection: Connection[Any]) -> Mapping[str, Any]:
    """How many reports there are in each state: the share of noise among those looked at is the inbox's quality."""
    rows = connection.execute("SELECT state, count(*) AS reports FROM regression_report GROUP BY state").fetchall()
    return {row["state"]: row["reports"] for row in rows}


def change_ordinals(connection: Connection[Any], series_id: int, branch_id: int) -> list[Mapping[str, Any]]:
    """Where on a branch the changes of a series lie."""
    return connection.execute(
        "SELECT ordinal FROM change JOIN branch_revision ON revision_id = head_revision_id"
        " WHERE series_id = %s AND branch_id = %s",
        [series_id, branch_id],
    ).fetchall()
