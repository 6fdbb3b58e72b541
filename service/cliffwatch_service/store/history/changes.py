"""Changes: steps of series between two revisions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from psycopg import Connection

from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import row_cursor, tuple_cursor, values
from cliffwatch_service.store.history.confirmations import ConfirmationState

ChangeState = Literal["candidate", "confirmed", "refuted", "superseded"]
"""A change is superseded by a change of a narrower range, or by another change of its own range."""
ChangeKind = Literal["regression", "improvement", "changed", "step"]
"""A verdict that reports a change, or `step` for a change that only history shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFacts:
    """A step of a series between two revisions, to store."""

    digest: str
    series_id: int
    base_revision_id: int
    head_revision_id: int
    state: ChangeState
    kind: ChangeKind
    size: float | None
    """Fraction; None for a change without a percentage."""
    ci_low: float | None
    ci_high: float | None
    base_value: float | None
    """Value of base, for a change without a percentage."""
    head_value: float | None
    """Value of head, for a change without a percentage."""
    apart: bool
    """Whether the sides of its comparison were measured separately, not in turns."""
    comparison_id: int | None
    report_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A change as it is shown."""

    id: int
    digest: str
    state: ChangeState
    kind: ChangeKind
    size: float | None
    ci_low: float | None
    ci_high: float | None
    base_value: float | None
    head_value: float | None
    apart: bool
    """Whether the sides of its comparison were measured separately, not in turns."""
    found: datetime
    series: str
    """Digest."""
    suite: str
    benchmark: str
    params: list[list[str]]
    metric: str
    unit: str
    platform: str
    mode: Mode
    base: str
    """Commit."""
    head: str
    """Commit."""
    head_subject: str | None
    report: str | None
    """Digest of its report."""
    fresh_change: float | None
    """Set if a fresh comparison did not confirm the candidate, like the other `fresh` figures."""
    fresh_low: float | None
    fresh_high: float | None
    fresh_mde: float | None
    waits_for: ConfirmationState | None
    """State of the confirmation that a candidate waits for."""
    located_in: Mode | None
    """The mode in which its commit was located; None if that is its own mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WideChangeRow:
    """A confirmed change whose range a bisection narrows."""

    id: int
    digest: str
    series_id: int
    series: str
    """Digest."""
    kind: ChangeKind
    size: float | None
    ci_low: float | None
    ci_high: float | None
    base_value: float | None
    head_value: float | None
    comparison_id: int | None
    report_id: int | None


class SpanRow(NamedTuple):
    """Where on a branch a change of a series lies."""

    series_id: int
    base: int
    """Ordinal after which it comes."""
    head: int
    """Ordinal at which it is there at the latest."""


_CHANGE = """
INSERT INTO change (digest, series_id, base_revision_id, head_revision_id, state, kind, size, ci_low, ci_high,
    base_value, head_value, apart, comparison_id, report_id, found)
VALUES (%(digest)s, %(series_id)s, %(base_revision_id)s, %(head_revision_id)s, %(state)s, %(kind)s, %(size)s,
    %(ci_low)s, %(ci_high)s, %(base_value)s, %(head_value)s, %(apart)s, %(comparison_id)s, %(report_id)s,
    %(now)s)
ON CONFLICT (digest) DO UPDATE SET state = excluded.state, kind = excluded.kind, size = excluded.size,
    ci_low = excluded.ci_low, ci_high = excluded.ci_high, base_value = excluded.base_value,
    head_value = excluded.head_value, apart = excluded.apart, comparison_id = excluded.comparison_id,
    report_id = coalesce(excluded.report_id, change.report_id)
WHERE change.state <> 'superseded' OR change.kind = 'step'
"""


def keep_changes(connection: Connection[Any], changes: Sequence[ChangeFacts], now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(_CHANGE, [{**asdict(each), "now": now} for each in changes])


def in_state(connection: Connection[Any], digests: Sequence[str], state: ChangeState) -> set[str]:
    """Returns which of these changes are in a state.

    Candidates that were superseded unconfirmed count for no state.
    """
    query = (
        "SELECT digest FROM change WHERE digest = ANY(%s) AND state = %s"
        " AND (state <> 'superseded' OR kind <> 'step')"
    )
    return set(values(connection, str).execute(query, [list(digests), state]).fetchall())


def supersede_changes(connection: Connection[Any], ids: Sequence[int]) -> None:
    """Supersedes changes. They stay stored, but leave their reports."""
    connection.execute(
        "UPDATE change SET state = 'superseded', report_id = NULL WHERE id = ANY(%s)", [list(ids)]
    )


_WIDE = """
SELECT change.id, change.digest, series_id, series.digest AS series, kind, size, ci_low, ci_high, base_value,
    head_value, comparison_id, report_id
FROM change JOIN series ON series.id = series_id
WHERE state = 'confirmed' AND base_revision_id = %(base)s AND head_revision_id = %(head)s
    AND platform = %(platform)s AND mode = %(mode)s
ORDER BY abs(size) DESC NULLS FIRST, change.id
"""


def confirmed_between(
    connection: Connection[Any], base: int, head: int, platform: str, mode: str
) -> list[WideChangeRow]:
    """Returns the confirmed changes between two revisions on one platform in one mode.

    Changes without a percentage come first, then the largest.
    """
    wanted = {"base": base, "head": head, "platform": platform, "mode": mode}
    return row_cursor(connection, WideChangeRow).execute(_WIDE, wanted).fetchall()


def set_bisection(connection: Connection[Any], digests: Sequence[str], bisection_id: int) -> None:
    connection.execute(
        "UPDATE change SET bisection_id = %s WHERE digest = ANY(%s)", [bisection_id, list(digests)]
    )


def set_landed(connection: Connection[Any], head: int, landed: int) -> None:
    """Records the merge by which the changes of a revision came to a branch."""
    connection.execute(
        "UPDATE change SET landed_revision_id = %s WHERE head_revision_id = %s", [landed, head]
    )


def known_digests(connection: Connection[Any], digests: Sequence[str]) -> set[str]:
    """Returns which of these changes are stored, in any state."""
    query = "SELECT digest FROM change WHERE digest = ANY(%s)"
    return set(values(connection, str).execute(query, [list(digests)]).fetchall())


def gather_changes(connection: Connection[Any], base: int, head: int, report_id: int) -> None:
    """Adds the confirmed changes between two revisions to a report, unless they have one already."""
    connection.execute(
        "UPDATE change SET report_id = %s WHERE base_revision_id = %s AND head_revision_id = %s"
        " AND state = 'confirmed'"
        " AND report_id IS NULL",
        [report_id, base, head],
    )


class UnreportedRow(NamedTuple):
    """A range with confirmed changes that are in no report."""

    base: int
    """Id of its base revision."""
    head: int
    """Id of its head revision."""
    worse: bool
    """Whether any of these changes is a regression."""


_UNREPORTED = """
SELECT base_revision_id AS base, head_revision_id AS head, bool_or(kind = 'regression') AS worse FROM change
WHERE series_id = ANY(%s) AND state = 'confirmed' AND report_id IS NULL
GROUP BY 1, 2 ORDER BY min(id)
"""


def unreported_ranges(connection: Connection[Any], series: Sequence[int]) -> list[UnreportedRow]:
    """Returns the ranges of confirmed changes of these series that are in no report, oldest change first."""
    return tuple_cursor(connection, UnreportedRow._make).execute(_UNREPORTED, [list(series)]).fetchall()


def release_changes(connection: Connection[Any], report_id: int) -> None:
    """Takes the confirmed changes out of a report."""
    connection.execute(
        "UPDATE change SET report_id = NULL WHERE report_id = %s AND state = 'confirmed'", [report_id]
    )


class OfComparisonRow(NamedTuple):
    """A change that a comparison showed."""

    digest: str
    id: int
    series_id: int


def changes_of_comparison(connection: Connection[Any], comparison_id: int) -> dict[str, OfComparisonRow]:
    """Returns the changes of a comparison that are not superseded, by digest."""
    query = "SELECT digest, id, series_id FROM change WHERE comparison_id = %s AND state <> 'superseded'"
    cursor = tuple_cursor(connection, OfComparisonRow._make)
    return {row.digest: row for row in cursor.execute(query, [comparison_id]).fetchall()}


def refute_changes(connection: Connection[Any], ids: Sequence[int]) -> None:
    connection.execute("UPDATE change SET state = 'refuted' WHERE id = ANY(%s)", [list(ids)])


_CHANGES = """
SELECT change.id, change.digest, change.state, kind, size, ci_low, ci_high, base_value, head_value, apart,
    found, series.digest AS series,
       suite, benchmark, params, metric, unit, series.platform, series.mode, base.commit AS base,
           head.commit AS head, head.subject AS head_subject,
       regression_report.digest AS report, fresh_change, fresh_low, fresh_high, fresh_mde,
       CASE change.state WHEN 'candidate' THEN confirmation.state END AS waits_for, located_in
FROM change
LEFT JOIN confirmation ON confirmation.id = confirmation_id
JOIN series ON series.id = series_id JOIN benchmark_case ON benchmark_case.id = case_id
JOIN revision AS base ON base.id = change.base_revision_id
JOIN revision AS head ON head.id = change.head_revision_id
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
    """Returns changes, newest first.

    `at` and `number` are the time and the id of the change before the first. None leaves a filter open.
    """
    wanted = {"series": series, "state": state, "at": at, "number": number, "limit": limit}
    return row_cursor(connection, ChangeRow).execute(_LIST_CHANGES, wanted).fetchall()


def changes_of_report(connection: Connection[Any], report_id: int) -> list[ChangeRow]:
    """Returns the changes without a percentage first, then the largest."""
    query = _CHANGES + " WHERE report_id = %s ORDER BY abs(size) DESC NULLS FIRST, change.id"
    return row_cursor(connection, ChangeRow).execute(query, [report_id]).fetchall()


def changes_of_reports(connection: Connection[Any], digests: Sequence[str]) -> dict[str, list[ChangeRow]]:
    """Returns changes by the digest of their report, in the order of `changes_of_report`."""
    query = (
        _CHANGES + " WHERE regression_report.digest = ANY(%s) ORDER BY abs(size) DESC NULLS FIRST, change.id"
    )
    by_report: dict[str, list[ChangeRow]] = {digest: [] for digest in digests}
    for row in row_cursor(connection, ChangeRow).execute(query, [list(digests)]).fetchall():
        assert row.report is not None
        by_report[row.report].append(row)
    return by_report


_SPANS = """
SELECT series_id, coalesce(before.ordinal, after.ordinal - 1) AS base, after.ordinal AS head
FROM branch_revision AS after
JOIN change ON coalesce(landed_revision_id, head_revision_id) = after.revision_id
LEFT JOIN branch_revision AS before
    ON before.branch_id = after.branch_id AND before.revision_id = base_revision_id
        AND landed_revision_id IS NULL
WHERE after.branch_id = %s AND state <> 'superseded'
ORDER BY series_id, after.ordinal
"""


def change_spans(connection: Connection[Any], branch_id: int) -> list[SpanRow]:
    """Returns where on a branch the changes of its series lie."""
    return tuple_cursor(connection, SpanRow._make).execute(_SPANS, [branch_id]).fetchall()
