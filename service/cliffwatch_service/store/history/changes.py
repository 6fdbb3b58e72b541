"""Changes: steps of series between two revisions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg import Connection

from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import typed, values

ChangeState = Literal["candidate", "confirmed", "refuted"]
ChangeKind = Literal["regression", "improvement", "changed", "step"]
"""One of the verdicts that report a change or, from history alone, step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFacts:
    """A step of a series between two revisions."""

    digest: str
    series_id: int
    base_revision_id: int
    head_revision_id: int
    state: ChangeState
    kind: ChangeKind
    size: float
    ci_low: float | None
    ci_high: float | None
    comparison_id: int | None
    report_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A change as it is told: of which series, between which commits, and the digest of its report."""

    id: int
    digest: str
    state: ChangeState
    kind: ChangeKind
    size: float
    ci_low: float | None
    ci_high: float | None
    found: datetime
    series: str
    suite: str
    benchmark: str
    params: list[list[str]]
    metric: str
    unit: str
    platform: str
    mode: Mode
    base: str
    head: str
    head_subject: str | None
    report: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownChangeRow:
    """A change that is there already."""

    id: int
    digest: str


_CHANGE = """
INSERT INTO change (digest, series_id, base_revision_id, head_revision_id, state, kind, size, ci_low, ci_high, comparison_id,
                    report_id, found)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (digest) DO UPDATE SET state = excluded.state, kind = excluded.kind, size = excluded.size,
    ci_low = excluded.ci_low, ci_high = excluded.ci_high, comparison_id = excluded.comparison_id,
    report_id = coalesce(excluded.report_id, change.report_id)
"""


def keep_changes(connection: Connection[Any], changes: Sequence[ChangeFacts], now: datetime) -> None:
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


def changes_of_comparison(connection: Connection[Any], comparison_id: int) -> list[KnownChangeRow]:
    query = "SELECT id, digest FROM change WHERE comparison_id = %s"
    return typed(connection, KnownChangeRow).execute(query, [comparison_id]).fetchall()


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
  AND (%(at)s::timestamptz IS NULL OR (found, change.id) < (%(at)s, %(number)s))
ORDER BY found DESC, change.id DESC LIMIT %(limit)s
"""
)


def list_changes(
    connection: Connection[Any],
    *,
    series: int | None,
    state: str | None,
    at: datetime | None,
    number: int | None,
    limit: int,
) -> list[ChangeRow]:
    """Newest first, from a position on: when the change before was found, and its id. None leaves open."""
    wanted = {"series": series, "state": state, "at": at, "number": number, "limit": limit}
    return typed(connection, ChangeRow).execute(_LIST_CHANGES, wanted).fetchall()


def changes_of_report(connection: Connection[Any], report_id: int) -> list[ChangeRow]:
    """The largest first."""
    query = _CHANGES + " WHERE report_id = %s ORDER BY abs(size) DESC, change.id"
    return typed(connection, ChangeRow).execute(query, [report_id]).fetchall()


def changes_of_reports(connection: Connection[Any], digests: Sequence[str]) -> dict[str, list[ChangeRow]]:
    """By the digest of their report, the largest first."""
    query = _CHANGES + " WHERE regression_report.digest = ANY(%s) ORDER BY abs(size) DESC, change.id"
    by_report: dict[str, list[ChangeRow]] = {digest: [] for digest in digests}
    for row in typed(connection, ChangeRow).execute(query, [list(digests)]).fetchall():
        assert row.report is not None
        by_report[row.report].append(row)
    return by_report


def change_ordinals(connection: Connection[Any], series_id: int, branch_id: int) -> list[int]:
    """Where on a branch the changes of a series lie."""
    query = (
        "SELECT ordinal FROM change JOIN branch_revision ON revision_id = head_revision_id"
        " WHERE series_id = %s AND branch_id = %s"
    )
    return values(connection, int).execute(query, [series_id, branch_id]).fetchall()
