"""Changes: steps of series between two revisions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from psycopg import Connection

from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import many, typed, values
from cliffwatch_service.store.history.confirmations import ConfirmationState

ChangeState = Literal["candidate", "confirmed", "refuted", "superseded"]
"""A change is superseded by one of a narrower range, or by another of its own range."""
ChangeKind = Literal["regression", "improvement", "changed", "step"]
"""One of the verdicts that report a change or, from history alone, step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFacts:
    """A step of a series between two revisions. `apart` says that the sides of its comparison did not take turns. `size` is a fraction; of a change that has no percentage it is None, and the values say
    what both sides read.
    """

    digest: str
    series_id: int
    base_revision_id: int
    head_revision_id: int
    state: ChangeState
    kind: ChangeKind
    size: float | None
    ci_low: float | None
    ci_high: float | None
    base_value: float | None
    head_value: float | None
    apart: bool
    comparison_id: int | None
    report_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A change as it is told: of which series, between which commits, and the digest of its report.

    The `fresh` figures are those of the comparison that did not bear a candidate out; None for every other change. `waits_for` is the state of the comparison that
    a candidate waits for. `located_in` is the mode in which its commit was located, where that is another than its own.
    """

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
    fresh_change: float | None
    fresh_low: float | None
    fresh_high: float | None
    fresh_mde: float | None
    waits_for: ConfirmationState | None
    located_in: Mode | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownChangeRow:
    """A change that is there already."""

    id: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WideChangeRow:
    """A confirmed change of a range that a bisection narrows."""

    id: int
    digest: str
    series_id: int
    series: str
    kind: ChangeKind
    size: float | None
    ci_low: float | None
    ci_high: float | None
    base_value: float | None
    head_value: float | None
    comparison_id: int | None
    report_id: int | None


class SpanRow(NamedTuple):
    """Between which ordinals of a branch a change of a series lies: after `base`, and at `head` at the latest."""

    series_id: int
    base: int
    head: int


_CHANGE = """
INSERT INTO change (digest, series_id, base_revision_id, head_revision_id, state, kind, size, ci_low, ci_high, base_value, head_value,
                    apart, comparison_id, report_id, found)
VALUES (%(digest)s, %(series_id)s, %(base_revision_id)s, %(head_revision_id)s, %(state)s, %(kind)s, %(size)s, %(ci_low)s, %(ci_high)s,
        %(base_value)s, %(head_value)s, %(apart)s, %(comparison_id)s, %(report_id)s, %(now)s)
ON CONFLICT (digest) DO UPDATE SET state = excluded.state, kind = excluded.kind, size = excluded.size,
    ci_low = excluded.ci_low, ci_high = excluded.ci_high, base_value = excluded.base_value, head_value = excluded.head_value,
    apart = excluded.apart, comparison_id = excluded.comparison_id,
    report_id = coalesce(excluded.report_id, change.report_id)
WHERE change.state <> 'superseded' OR change.kind = 'step'
"""


def keep_changes(connection: Connection[Any], changes: Sequence[ChangeFacts], now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(_CHANGE, [{**asdict(each), "now": now} for each in changes])


def in_state(connection: Connection[Any], digests: Sequence[str], state: ChangeState) -> set[str]:
    """Which of these changes are in a state; candidates that were superseded before anything confirmed them are in none."""
    query = "SELECT digest FROM change WHERE digest = ANY(%s) AND state = %s AND (state <> 'superseded' OR kind <> 'step')"
    return set(values(connection, str).execute(query, [list(digests), state]).fetchall())


def supersede_changes(connection: Connection[Any], ids: Sequence[int]) -> None:
    """They stay, and belong to no report any more."""
    connection.execute(
        "UPDATE change SET state = 'superseded', report_id = NULL WHERE id = ANY(%s)", [list(ids)]
    )


_WIDE = """
SELECT change.id, change.digest, series_id, series.digest AS series, kind, size, ci_low, ci_high, base_value, head_value,
       comparison_id, report_id
FROM change JOIN series ON series.id = series_id
WHERE state = 'confirmed' AND base_revision_id = %(base)s AND head_revision_id = %(head)s AND platform = %(platform)s AND mode = %(mode)s
ORDER BY abs(size) DESC NULLS FIRST, change.id
"""


def confirmed_between(
    connection: Connection[Any], base: int, head: int, platform: str, mode: str
) -> list[WideChangeRow]:
    """Confirmed changes on one platform in one mode between two revisions, the largest first; before them those without a percentage."""
    wanted = {"base": base, "head": head, "platform": platform, "mode": mode}
    return typed(connection, WideChangeRow).execute(_WIDE, wanted).fetchall()


def set_bisection(connection: Connection[Any], digests: Sequence[str], bisection_id: int) -> None:
    connection.execute(
        "UPDATE change SET bisection_id = %s WHERE digest = ANY(%s)", [bisection_id, list(digests)]
    )


def set_landed(connection: Connection[Any], head: int, landed: int) -> None:
    """By which merge the changes of a revision came to a branch."""
    connection.execute(
        "UPDATE change SET landed_revision_id = %s WHERE head_revision_id = %s", [landed, head]
    )


def known_digests(connection: Connection[Any], digests: Sequence[str]) -> set[str]:
    """Which of these changes are there, in whatever state."""
    query = "SELECT digest FROM change WHERE digest = ANY(%s)"
    return set(values(connection, str).execute(query, [list(digests)]).fetchall())


def gather_changes(connection: Connection[Any], base: int, head: int, report_id: int) -> None:
    """Puts what was confirmed between these revisions and is of no report yet under this one."""
    connection.execute(
        "UPDATE change SET report_id = %s WHERE base_revision_id = %s AND head_revision_id = %s AND state = 'confirmed'"
        " AND report_id IS NULL",
        [report_id, base, head],
    )


def changes_of_comparison(connection: Connection[Any], comparison_id: int) -> list[KnownChangeRow]:
    """Those that nothing superseded."""
    query = "SELECT id, digest FROM change WHERE comparison_id = %s AND state <> 'superseded'"
    return typed(connection, KnownChangeRow).execute(query, [comparison_id]).fetchall()


def refute_changes(connection: Connection[Any], ids: Sequence[int]) -> None:
    connection.execute("UPDATE change SET state = 'refuted' WHERE id = ANY(%s)", [list(ids)])


_CHANGES = """
SELECT change.id, change.digest, change.state, kind, size, ci_low, ci_high, base_value, head_value, apart, found, series.digest AS series,
       suite, benchmark, params, metric, unit, series.platform, series.mode, base.commit AS base, head.commit AS head, head.subject AS head_subject,
       regression_report.digest AS report, fresh_change, fresh_low, fresh_high, fresh_mde,
       CASE change.state WHEN 'candidate' THEN confirmation.state END AS waits_for, located_in
FROM change
LEFT JOIN confirmation ON confirmation.id = confirmation_id
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
    """Those without a percentage, then the largest first."""
    query = _CHANGES + " WHERE report_id = %s ORDER BY abs(size) DESC NULLS FIRST, change.id"
    return typed(connection, ChangeRow).execute(query, [report_id]).fetchall()


def changes_of_reports(connection: Connection[Any], digests: Sequence[str]) -> dict[str, list[ChangeRow]]:
    """By the digest of their report, in the order of `changes_of_report`."""
    query = (
        _CHANGES + " WHERE regression_report.digest = ANY(%s) ORDER BY abs(size) DESC NULLS FIRST, change.id"
    )
    by_report: dict[str, list[ChangeRow]] = {digest: [] for digest in digests}
    for row in typed(connection, ChangeRow).execute(query, [list(digests)]).fetchall():
        assert row.report is not None
        by_report[row.report].append(row)
    return by_report


_SPANS = """
SELECT series_id, coalesce(before.ordinal, after.ordinal - 1) AS base, after.ordinal AS head
FROM branch_revision AS after JOIN change ON coalesce(landed_revision_id, head_revision_id) = after.revision_id
LEFT JOIN branch_revision AS before
    ON before.branch_id = after.branch_id AND before.revision_id = base_revision_id AND landed_revision_id IS NULL
WHERE after.branch_id = %s AND state <> 'superseded'
ORDER BY series_id, after.ordinal
"""


def change_spans(connection: Connection[Any], branch_id: int) -> list[SpanRow]:
    """Where on a branch the changes of its series lie."""
    return many(connection, SpanRow._make).execute(_SPANS, [branch_id]).fetchall()
