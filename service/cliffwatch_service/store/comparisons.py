"""Comparisons with their documents, and an index of their rows that are not unchanged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import fetch_single_row, pairs, row_cursor, tuple_cursor, values


class VerdictRow(NamedTuple):
    """A row of a comparison that is not unchanged. A named tuple, since a comparison may have thousands."""

    series_id: int
    verdict: Verdict
    change: float | None
    """Fraction; None if the row has none."""
    ci_low: float | None
    """Lower bound of `change`."""
    ci_high: float | None
    """Upper bound of `change`."""
    base_value: float | None
    """In the series' unit. Set if the row has no `change` and base was measured."""
    head_value: float | None
    """In the series' unit. Set if the row has no `change` and head was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewComparison:
    """A comparison to store."""

    digest: str
    """Digest of the two runs, `inputs` and `method_version`."""
    platform: str
    mode: str
    base_arm_id: int
    head_arm_id: int
    base_revision_id: int
    head_revision_id: int
    inputs: str
    """Digest of the boots and code it was made from. If theirs differs now, the comparison is stale."""
    method_version: int
    counts: Mapping[str, int]
    """Number of rows by verdict."""
    summary: FreeJson
    """Comparison JSON without its rows."""
    rows: bytes
    """The array of rows of Comparison JSON, zstd."""
    indexed: Sequence[VerdictRow]
    """The rows to index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredComparison:
    """A comparison without its rows."""

    id: int
    digest: str
    inputs: str
    method_version: int
    platform: str
    mode: str
    counts: dict[str, int]
    made: datetime
    summary: FreeJson
    """Comparison JSON without its rows."""
    base_revision_id: int
    head_revision_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonListedRow:
    """A comparison in a list."""

    id: int
    digest: str
    platform: str
    mode: str
    made: datetime
    counts: dict[str, int]
    base: str
    """Commit."""
    base_subject: str | None
    head: str
    """Commit."""
    head_subject: str | None


_INSERT = """
INSERT INTO comparison (digest, platform, mode, base_arm_id, head_arm_id, base_revision_id, head_revision_id,
    inputs, method_version, made, counts, summary, rows)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %b)
ON CONFLICT (base_arm_id, head_arm_id) DO UPDATE SET
    digest = excluded.digest, inputs = excluded.inputs, method_version = excluded.method_version,
    made = excluded.made, counts = excluded.counts, summary = excluded.summary, rows = excluded.rows
RETURNING id
"""


def keep_comparison(connection: Connection[Any], row: NewComparison, now: datetime) -> int:
    """Stores a comparison, which replaces an older one of the same arms. Returns its id."""
    stored = values(connection, int).execute(
        _INSERT,
        [
            row.digest,
            row.platform,
            row.mode,
            row.base_arm_id,
            row.head_arm_id,
            row.base_revision_id,
            row.head_revision_id,
            row.inputs,
            row.method_version,
            now,
            Jsonb(row.counts),
            Jsonb(row.summary),
            row.rows,
        ],
    )
    comparison = fetch_single_row(stored)
    connection.execute("DELETE FROM verdict WHERE comparison_id = %s", [comparison])
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO verdict (comparison_id, series_id, verdict, change, ci_low, ci_high, base_value,"
            " head_value)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [(comparison, *each) for each in row.indexed],
        )
    return comparison


_COMPARISON = """
SELECT id, digest, inputs, method_version, platform, mode, counts, made, summary, base_revision_id,
    head_revision_id FROM comparison
"""


def comparison_of_arms(connection: Connection[Any], base: int, head: int) -> StoredComparison | None:
    query = _COMPARISON + " WHERE base_arm_id = %s AND head_arm_id = %s"
    return row_cursor(connection, StoredComparison).execute(query, [base, head]).fetchone()


_WITH_FUNCTIONS = """
SELECT summary FROM comparison
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
WHERE base.commit = %s AND head.commit = %s AND mode = 'icount'
    AND jsonb_array_length(summary -> 'functions') > 0
ORDER BY comparison.id DESC LIMIT 1
"""


def summary_with_functions(connection: Connection[Any], base: str, head: str) -> FreeJson | None:
    """Returns the summary of two commits' newest comparison that names changed functions, or None."""
    return values(connection, dict).execute(_WITH_FUNCTIONS, [base, head]).fetchone()


def comparison_by_id(connection: Connection[Any], identity: int) -> StoredComparison | None:
    return (
        row_cursor(connection, StoredComparison)
        .execute(_COMPARISON + " WHERE id = %s", [identity])
        .fetchone()
    )


def counts_of_runs(connection: Connection[Any], runs: Sequence[int]) -> dict[int, dict[str, int]]:
    """Returns the number of rows by verdict, by run id, for runs whose base and head were compared."""
    query = (
        "SELECT base.run_id AS run_id, comparison.counts FROM arm AS base"
        " JOIN arm AS head ON head.run_id = base.run_id AND head.name = 'head'"
        " JOIN comparison ON base_arm_id = base.id AND head_arm_id = head.id"
        " WHERE base.run_id = ANY(%s) AND base.name = 'base'"
    )
    return dict(pairs(connection, int, dict).execute(query, [list(runs)]).fetchall())


def is_of_history(connection: Connection[Any], identity: int) -> bool:
    """Whether both arms of a comparison belong to runs of history."""
    query = (
        "SELECT coalesce(bool_and(of_history), false) AS both FROM comparison"
        " JOIN arm ON arm.id IN (base_arm_id, head_arm_id)"
        " JOIN run ON run.id = run_id WHERE comparison.id = %s"
    )
    return fetch_single_row(values(connection, bool).execute(query, [identity]))


def rows_of(connection: Connection[Any], identity: int) -> bytes:
    query = "SELECT rows FROM comparison WHERE id = %s"
    return fetch_single_row(values(connection, bytes).execute(query, [identity], binary=True))


_LIST = """
SELECT comparison.id, comparison.digest, comparison.platform, comparison.mode, comparison.made, counts,
       base.commit AS base, base.subject AS base_subject, head.commit AS head, head.subject AS head_subject
FROM comparison
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
WHERE (%(platform)s::text IS NULL OR platform = %(platform)s) AND (%(mode)s::text IS NULL OR mode = %(mode)s)
  AND comparison.id < coalesce(%(before)s, 9223372036854775807)
ORDER BY comparison.id DESC LIMIT %(limit)s
"""


def list_comparisons(
    connection: Connection[Any], *, platform: str | None, mode: str | None, before: int | None, limit: int
) -> list[ComparisonListedRow]:
    """Returns comparisons, newest first, with ids below `before`. None leaves a filter open."""
    wanted = {"platform": platform, "mode": mode, "before": before, "limit": limit}
    return row_cursor(connection, ComparisonListedRow).execute(_LIST, wanted).fetchall()


def verdicts_of(connection: Connection[Any], identity: int) -> list[VerdictRow]:
    query = (
        "SELECT series_id, verdict, change, ci_low, ci_high, base_value, head_value FROM verdict"
        " WHERE comparison_id = %s ORDER BY series_id"
    )
    return tuple_cursor(connection, VerdictRow._make).execute(query, [identity]).fetchall()


class RunVerdictRow(NamedTuple):
    """A verdict of a comparison between two runs, for the public dataset."""

    comparison_id: int
    series_id: int
    comparison: str
    platform: str
    mode: Mode
    base_run: str
    head_run: str
    base: str
    head: str
    method_version: int
    made: datetime
    suite: str
    benchmark: str
    params: list[list[str]]
    metric: str
    unit: str
    verdict: Verdict
    change: float | None
    ci_low: float | None
    ci_high: float | None


_VERDICTS_OF_RUNS = """
SELECT comparison.id AS comparison_id, series_id, comparison.digest AS comparison, comparison.platform,
    comparison.mode,
       base_run.digest AS base_run, head_run.digest AS head_run, base.commit AS base, head.commit AS head,
           method_version, made, suite, benchmark, params, metric, unit, verdict, change, ci_low, ci_high
FROM verdict JOIN comparison ON comparison.id = comparison_id
JOIN arm AS base_arm ON base_arm.id = base_arm_id JOIN run AS base_run ON base_run.id = base_arm.run_id
JOIN arm AS head_arm ON head_arm.id = head_arm_id JOIN run AS head_run ON head_run.id = head_arm.run_id
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
JOIN series ON series.id = series_id JOIN benchmark_case ON benchmark_case.id = case_id
WHERE (comparison_id, series_id) > (%(comparison)s, %(series)s)
  AND base_run.digest = ANY(%(runs)s) AND head_run.digest = ANY(%(runs)s)
ORDER BY comparison_id, series_id LIMIT 5000
"""


def verdicts_of_runs(
    connection: Connection[Any], digests: Sequence[str], after: tuple[int, int]
) -> list[RunVerdictRow]:
    """Returns the next 5,000 verdicts of comparisons between these runs, without `unchanged`.

    `after` holds the ids of the comparison and series of the last one.
    """
    wanted = {"runs": list(digests), "comparison": after[0], "series": after[1]}
    return tuple_cursor(connection, RunVerdictRow._make).execute(_VERDICTS_OF_RUNS, wanted).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparisonRow:
    """The comparison of a run's own arms, each against the first."""

    run_id: int
    digest: str
    inputs: str
    method_version: int
    document: bytes
    """Comparison JSON, zstd."""


def keep_run_comparison(connection: Connection[Any], row: RunComparisonRow, now: datetime) -> None:
    """Stores the comparison of a run, which replaces an older one."""
    connection.execute(
        "INSERT INTO run_comparison (run_id, digest, inputs, method_version, made, document)"
        " VALUES (%s, %s, %s, %s, %s, %b)"
        " ON CONFLICT (run_id) DO UPDATE SET digest = excluded.digest, inputs = excluded.inputs,"
        " method_version = excluded.method_version, made = excluded.made, document = excluded.document",
        [row.run_id, row.digest, row.inputs, row.method_version, now, row.document],
    )


def run_comparison(connection: Connection[Any], run_id: int) -> RunComparisonRow | None:
    query = "SELECT run_id, digest, inputs, method_version, document FROM run_comparison WHERE run_id = %s"
    return row_cursor(connection, RunComparisonRow).execute(query, [run_id]).fetchone()
