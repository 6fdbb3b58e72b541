"""Comparisons with their documents, and the rows of theirs that are worth an index."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRecord:
    """A comparison as it is stored: `rows` is the array of Comparison JSON, zstd, `summary` the rest of it.

    `indexed` are (series, verdict, change, low, high) of the rows that are worth an index.
    """

    digest: str
    platform: str
    mode: str
    base_arm_id: int
    head_arm_id: int
    base_revision_id: int
    head_revision_id: int
    inputs: str
    method_version: int
    counts: Mapping[str, int]
    summary: Mapping[str, Any]
    rows: bytes
    indexed: Sequence[tuple[int, str, float | None, float | None, float | None]]


_INSERT = """
INSERT INTO comparison (digest, platform, mode, base_arm_id, head_arm_id, base_revision_id, head_revision_id, inputs,
                        method_version, made, counts, summary, rows)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %b)
ON CONFLICT (base_arm_id, head_arm_id) DO UPDATE SET
    digest = excluded.digest, inputs = excluded.inputs, method_version = excluded.method_version, made = excluded.made,
    counts = excluded.counts, summary = excluded.summary, rows = excluded.rows
RETURNING id
"""


def keep_comparison(connection: Connection[Any], row: ComparisonRecord, now: datetime) -> int:
    """Stores a comparison in place of an older one of the same arms."""
    stored = connection.execute(
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
    ).fetchone()
    assert stored is not None
    comparison = int(stored["id"])
    connection.execute("DELETE FROM verdict WHERE comparison_id = %s", [comparison])
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO verdict (comparison_id, series_id, verdict, change, ci_low, ci_high) VALUES (%s, %s, %s, %s, %s, %s)",
            [(comparison, *each) for each in row.indexed],
        )
    return comparison


def comparison_of_arms(connection: Connection[Any], base: int, head: int) -> Mapping[str, Any] | None:
    """The comparison without its rows."""
    return connection.execute(
        "SELECT id, digest, inputs, method_version, counts, made, summary FROM comparison"
        " WHERE base_arm_id = %s AND head_arm_id = %s",
        [base, head],
    ).fetchone()


def comparison_by_id(connection: Connection[Any], identity: int) -> Mapping[str, Any] | None:
    """The comparison without its rows."""
    return connection.execute(
        "SELECT id, digest, inputs, method_version, platform, mode, counts, made, summary, base_arm_id, head_arm_id,"
        " base_revision_id, head_revision_id FROM comparison WHERE id = %s",
        [identity],
    ).fetchone()


def is_of_history(connection: Connection[Any], identity: int) -> bool:
    """Whether both of its arms are of runs whose points are history."""
    row = connection.execute(
        "SELECT bool_and(of_history) AS both FROM comparison JOIN arm ON arm.id IN (base_arm_id, head_arm_id)"
        " JOIN run ON run.id = run_id WHERE comparison.id = %s",
        [identity],
    ).fetchone()
    return row is not None and bool(row["both"])


def rows_of(connection: Connection[Any], identity: int) -> bytes:
    row = connection.execute("SELECT rows FROM comparison WHERE id = %s", [identity], binary=True).fetchone()
    assert row is not None
    return bytes(row["rows"])


_LIST = """
SELECT comparison.id, comparison.digest, comparison.platform, comparison.mode, comparison.made, counts,
       base.commit AS base, base.subject AS base_subject, head.commit AS head, head.subject AS head_subject
FROM comparison
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
WHERE (%(platform)s::text IS NULL OR platform = %(platform)s) AND (%(mode)s::text IS NULL OR mode = %(mode)s)
  AND comparison.id < coalesce(%(id)s, 9223372036854775807)
ORDER BY comparison.id DESC LIMIT %(limit)s
"""


def list_comparisons(connection: Connection[Any], wanted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return connection.execute(_LIST, wanted).fetchall()


def verdicts_of(connection: Connection[Any], identity: int) -> list[Mapping[str, Any]]:
    return connection.execute(
        "SELECT series_id, verdict, change, ci_low, ci_high FROM verdict WHERE comparison_id = %s ORDER BY series_id",
        [identity],
    ).fetchall()


_VERDICTS_OF_RUNS = """
SELECT comparison.id AS comparison_id, series_id, comparison.digest AS comparison, comparison.platform, comparison.mode,
       base_run.digest AS base_run, head_run.digest AS head_run, base.commit AS base, head.commit AS head, method_version, made,
       suite, benchmark, params, metric, unit, verdict, change, ci_low, ci_high
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
) -> list[Mapping[str, Any]]:
    """The next verdicts but "unchanged" of comparisons between these runs, five thousand at most; `after` is a comparison and
    a series.
    """
    wanted = {"runs": list(digests), "comparison": after[0], "series": after[1]}
    return connection.execute(_VERDICTS_OF_RUNS, wanted).fetchall()
