"""Series, their samples, and the columns of boots."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.samples import Mode, Stage
from cliffwatch_service.postgres.rows import fetch_single_row, pairs, row_cursor, tuple_cursor, values

Parameters = Sequence[Sequence[str]]
"""Pairs of name and value, in the order in which the benchmark takes them."""


@dataclass(frozen=True, slots=True)
class SeriesFacts:
    """A series by its content. Both digests come from cliffwatch.identities."""

    digest: str
    case_digest: str
    suite: str
    benchmark: str
    params: Parameters
    name: str
    metric: str
    unit: str
    platform: str
    mode: Mode


class SeriesRow(NamedTuple):
    """A series. A named tuple, since thousands are read at once."""

    id: int
    digest: str
    suite: str
    benchmark: str
    params: list[list[str]]
    metric: str
    unit: str
    platform: str
    mode: Mode


class SampleRow(NamedTuple):
    """A sample of a series, with its run and boot."""

    run: str
    """Digest."""
    number: int
    """Number of the boot."""
    arm: str
    stage: Stage
    value: float


class ArmSampleRow(NamedTuple):
    """A sample of a series in an arm."""

    number: int
    """Number of the boot."""
    stage: Stage
    value: float


class ColumnsRow(NamedTuple):
    """The series of a boot's samples, in order."""

    id: int
    series: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTargetRow:
    """How many boots measured a revision on a platform in a mode."""

    platform: str
    mode: Mode
    boots: int


def keep_series(connection: Connection[Any], rows: Sequence[SeriesFacts]) -> dict[str, int]:
    """Returns the ids of series by digest, and stores those that are missing.

    Writes in the order of digests, so that concurrent writers never deadlock.
    """
    ordered = sorted({row.digest: row for row in rows}.values(), key=lambda row: row.digest)
    known = series_ids(connection, [row.digest for row in ordered])
    fresh = [row for row in ordered if row.digest not in known]
    if not fresh:
        return known
    cases = sorted({row.case_digest: row for row in fresh}.values(), key=lambda row: row.case_digest)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO benchmark_case (digest, suite, benchmark, params, name) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            [(row.case_digest, row.suite, row.benchmark, Jsonb(row.params), row.name) for row in cases],
        )
        cursor.executemany(
            "INSERT INTO series (digest, case_id, metric, unit, platform, mode)"
            " SELECT %s, id, %s, %s, %s, %s FROM benchmark_case WHERE digest = %s ON CONFLICT DO NOTHING",
            [(row.digest, row.metric, row.unit, row.platform, row.mode, row.case_digest) for row in fresh],
        )
    return series_ids(connection, [row.digest for row in ordered])


def series_ids(connection: Connection[Any], digests: Sequence[str]) -> dict[str, int]:
    query = "SELECT digest, id FROM series WHERE digest = ANY(%s)"
    return dict(pairs(connection, str, int).execute(query, [list(digests)]).fetchall())


def keep_columns(connection: Connection[Any], digest: str, series: Sequence[int]) -> int:
    connection.execute(
        "INSERT INTO columns (digest, series) VALUES (%s, %s) ON CONFLICT DO NOTHING", [digest, list(series)]
    )
    return fetch_single_row(values(connection, int).execute(_COLUMNS, [digest]))


_COLUMNS = "SELECT id FROM columns WHERE digest = %s"


def columns_named(connection: Connection[Any], digest: str) -> int | None:
    return values(connection, int).execute(_COLUMNS, [digest]).fetchone()


def columns_rows(connection: Connection[Any], ids: Sequence[int]) -> dict[int, list[int]]:
    query = "SELECT id, series FROM columns WHERE id = ANY(%s)"
    return dict(
        tuple_cursor(connection, ColumnsRow._make).execute(query, [list(ids)], binary=True).fetchall()
    )


_SERIES = """
SELECT series.id, series.digest, suite, benchmark, params, metric, unit, platform, mode
FROM series JOIN benchmark_case ON case_id = benchmark_case.id
"""


def series_by_digest(connection: Connection[Any], digest: str) -> SeriesRow | None:
    return (
        tuple_cursor(connection, SeriesRow._make)
        .execute(_SERIES + " WHERE series.digest = %s", [digest])
        .fetchone()
    )


def series_rows(connection: Connection[Any], ids: Sequence[int]) -> dict[int, SeriesRow]:
    rows = (
        tuple_cursor(connection, SeriesRow._make)
        .execute(_SERIES + " WHERE series.id = ANY(%s)", [list(ids)])
        .fetchall()
    )
    return {row.id: row for row in rows}


_LIST = (
    _SERIES
    + """
WHERE (%(platform)s::text IS NULL OR platform = %(platform)s) AND (%(mode)s::text IS NULL OR mode = %(mode)s)
  AND (%(suite)s::text IS NULL OR suite = %(suite)s)
      AND (%(benchmark)s::text IS NULL OR benchmark = %(benchmark)s)
  AND series.id > %(after)s
ORDER BY series.id LIMIT %(limit)s
"""
)


def list_series(
    connection: Connection[Any],
    *,
    platform: str | None,
    mode: str | None,
    suite: str | None,
    benchmark: str | None,
    after: int,
    limit: int,
) -> list[SeriesRow]:
    """Returns series with ids above `after`, in the order of ids. None leaves a filter open."""
    wanted = {
        "platform": platform,
        "mode": mode,
        "suite": suite,
        "benchmark": benchmark,
        "after": after,
        "limit": limit,
    }
    return tuple_cursor(connection, SeriesRow._make).execute(_LIST, wanted).fetchall()


_SAMPLES = """
SELECT run.digest AS run, boot.number, arm.name AS arm, boot.stage, samples[sample.position] AS value
FROM arm
JOIN run ON run.id = arm.run_id
JOIN boot ON boot.arm_id = arm.id
JOIN columns ON columns.id = columns_id
CROSS JOIN LATERAL (SELECT array_position(columns.series, %(series)s) AS position) AS sample
WHERE arm.revision_id = %(revision)s AND run.platform = %(platform)s AND run.mode = %(mode)s
  AND sample.position IS NOT NULL
ORDER BY run.created DESC, boot.number LIMIT %(limit)s
"""


def samples_of(
    connection: Connection[Any], series_row: SeriesRow, revision: int, limit: int
) -> list[SampleRow]:
    """Returns at most `limit` samples of a series at a revision, newest run first."""
    wanted = {
        "series": series_row.id,
        "revision": revision,
        "platform": series_row.platform,
        "mode": series_row.mode,
        "limit": limit,
    }
    return tuple_cursor(connection, SampleRow._make).execute(_SAMPLES, wanted).fetchall()


def samples_of_arm(connection: Connection[Any], series_id: int, arm_id: int) -> list[ArmSampleRow]:
    """Returns the sample of each boot of an arm in a series."""
    query = (
        "SELECT number, stage, samples[sample.position] AS value FROM boot"
        " JOIN columns ON columns.id = columns_id"
        " CROSS JOIN LATERAL (SELECT array_position(columns.series, %s) AS position) AS sample"
        " WHERE arm_id = %s AND sample.position IS NOT NULL ORDER BY number"
    )
    return tuple_cursor(connection, ArmSampleRow._make).execute(query, [series_id, arm_id]).fetchall()


def targets_measured(connection: Connection[Any], revision_id: int) -> list[MeasuredTargetRow]:
    query = (
        "SELECT platform, mode, count(*) AS boots FROM arm JOIN run ON run.id = arm.run_id"
        " JOIN boot ON boot.arm_id = arm.id"
        " WHERE revision_id = %s GROUP BY 1, 2 ORDER BY 1, 2"
    )
    return row_cursor(connection, MeasuredTargetRow).execute(query, [revision_id]).fetchall()
