"""Series, the columns of boots, and points of history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """One series by content. `params` are pairs of name and value, `case_digest` and `digest` of cliffwatch.identities."""

    digest: str
    case_digest: str
    suite: str
    benchmark: str
    params: Sequence[Sequence[str]]
    name: str
    metric: str
    unit: str
    platform: str
    mode: str


def keep_series(connection: Connection[Any], rows: Sequence[SeriesRow]) -> dict[str, int]:
    """The ids of series by digest; those that are not there are made. In the order of digests, so that writers never deadlock."""
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
    rows = connection.execute("SELECT digest, id FROM series WHERE digest = ANY(%s)", [list(digests)]).fetchall()
    return {row["digest"]: row["id"] for row in rows}


def keep_columns(connection: Connection[Any], digest: str, series: Sequence[int]) -> int:
    connection.execute(
        "INSERT INTO columns (digest, series) VALUES (%s, %s) ON CONFLICT DO NOTHING", [digest, list(series)]
    )
    identity = columns_named(connection, digest)
    assert identity is not None
    return identity


def columns_named(connection: Connection[Any], digest: str) -> int | None:
    row = connection.execute("SELECT id FROM columns WHERE digest = %s", [digest]).fetchone()
    return None if row is None else int(row["id"])


def columns_rows(connection: Connection[Any], ids: Sequence[int]) -> dict[int, list[int]]:
    rows = connection.execute("SELECT id, series FROM columns WHERE id = ANY(%s)", [list(ids)], binary=True).fetchall()
    return {row["id"]: row["series"] for row in rows}


def replace_points(
    connection: Connection[Any], arm_id: int, revision_id: int, environment_id: int, points: Sequence[tuple[Any, ...]]
) -> None:
    """Writes an arm's points (series, n, centre, low, high) in place of those that it had."""
    series = [point[0] for point in points]
    connection.execute("DELETE FROM point WHERE arm_id = %s AND series_id = ANY(%s)", [arm_id, series])
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY point (series_id, arm_id, revision_id, environment_id, n, centre, low, high) FROM STDIN (FORMAT binary)"
        ) as copy,
    ):
        copy.set_types(["int4", "int8", "int4", "int4", "int2", "float8", "float8", "float8"])
        for identity, n, centre, low, high in sorted(points):
            copy.write_row((identity, arm_id, revision_id, environment_id, n, centre, low, high))


def series_by_digest(connection: Connection[Any], digest: str) -> Mapping[str, Any] | None:
    return connection.execute(
        "SELECT series.*, suite, benchmark, params, name FROM series JOIN benchmark_case ON case_id = benchmark_case.id"
        " WHERE series.digest = %s",
        [digest],
    ).fetchone()


_LIST = """
SELECT series.id, series.digest, metric, unit, platform, mode, suite, benchmark, params
FROM series JOIN benchmark_case ON case_id = benchmark_case.id
WHERE (%(platform)s::text IS NULL OR platform = %(platform)s) AND (%(mode)s::text IS NULL OR mode = %(mode)s)
  AND (%(suite)s::text IS NULL OR suite = %(suite)s) AND (%(benchmark)s::text IS NULL OR benchmark = %(benchmark)s)
  AND series.id > %(id)s
ORDER BY series.id LIMIT %(limit)s
"""


def list_series(connection: Connection[Any], wanted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return connection.execute(_LIST, wanted).fetchall()


_WHEN = """coalesce(revision.committed, revision.authored,
    (SELECT min(created) FROM arm JOIN run ON run.id = run_id WHERE arm.revision_id = revision.id))"""
"""When a revision was written, or measured first where that is not known."""

_HISTORY = f"""
SELECT DISTINCT ON (member.ordinal) member.ordinal, revision.commit, revision.release, point.n, point.centre, point.low,
       point.high, environment.epoch, run.digest AS run,
       {_WHEN} AS at
FROM point
JOIN arm ON arm.id = point.arm_id
JOIN run ON run.id = arm.run_id
JOIN branch_revision AS member ON member.revision_id = point.revision_id AND member.branch_id = %(branch)s
JOIN revision ON revision.id = point.revision_id
JOIN environment ON environment.id = point.environment_id
WHERE point.series_id = %(series)s AND run.of_history
ORDER BY member.ordinal DESC, point.arm_id DESC LIMIT %(limit)s
"""  # noqa: S608 - of a constant

_HISTORY_WITHOUT_BRANCH = f"""
SELECT NULL::int AS ordinal, newest.commit, newest.release, n, centre, low, high, epoch, run, at
FROM (
    SELECT DISTINCT ON (revision.id) revision.commit, revision.release, point.n, point.centre, point.low, point.high,
           environment.epoch, coalesce(revision.committed, revision.authored) AS written, point.arm_id,
           run.digest AS run, {_WHEN} AS at
    FROM point
    JOIN arm ON arm.id = point.arm_id
    JOIN run ON run.id = arm.run_id
    JOIN revision ON revision.id = point.revision_id
    JOIN environment ON environment.id = point.environment_id
    WHERE point.series_id = %(series)s AND run.of_history
    ORDER BY revision.id, point.arm_id DESC
) AS newest
ORDER BY written DESC NULLS LAST, arm_id DESC LIMIT %(limit)s
"""  # noqa: S608 - of a constant


def history(connection: Connection[Any], series_id: int, branch_id: int | None, limit: int) -> list[Mapping[str, Any]]:
    """A series' points, one a revision (its newest measurement), the newest first: in a branch's order, else by date. `at` is when
    the revision was written, or measured first where that is not known. Of runs of history alone.
    """
    query = _HISTORY_WITHOUT_BRANCH if branch_id is None else _HISTORY
    return connection.execute(query, {"series": series_id, "branch": branch_id, "limit": limit}, binary=True).fetchall()


_RECENT = """
SELECT series_id, member.ordinal, point.revision_id, centre, environment.epoch
FROM (
    SELECT ordinal, revision_id FROM branch_revision AS own
    WHERE branch_id = %(branch)s
      AND EXISTS (SELECT FROM arm JOIN run ON run.id = run_id WHERE arm.revision_id = own.revision_id AND of_history)
    ORDER BY ordinal DESC LIMIT %(limit)s
) AS member
JOIN arm ON arm.revision_id = member.revision_id
JOIN run ON run.id = arm.run_id AND run.of_history
JOIN environment ON environment.id = run.environment_id
JOIN point ON point.arm_id = arm.id
ORDER BY series_id, member.ordinal, point.arm_id
"""


def recent_points(connection: Connection[Any], branch_id: int, limit: int) -> list[Mapping[str, Any]]:
    """The points of a branch's newest `limit` measured revisions, by series and then in the branch's order."""
    return connection.execute(_RECENT, {"branch": branch_id, "limit": limit}, binary=True).fetchall()


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
    connection: Connection[Any], series_row: Mapping[str, Any], revision: int, limit: int
) -> list[Mapping[str, Any]]:
    """Every sample of a series at a revision, the newest run first."""
    wanted = {
        "series": series_row["id"],
        "revision": revision,
        "platform": series_row["platform"],
        "mode": series_row["mode"],
        "limit": limit,
    }
    return connection.execute(_SAMPLES, wanted).fetchall()


def samples_of_arm(connection: Connection[Any], series_id: int, arm_id: int) -> list[Mapping[str, Any]]:
    """Every boot's sample of a series in an arm: number, stage, value."""
    return connection.execute(
        "SELECT number, stage, samples[sample.position] AS value FROM boot JOIN columns ON columns.id = columns_id"
        " CROSS JOIN LATERAL (SELECT array_position(columns.series, %s) AS position) AS sample"
        " WHERE arm_id = %s AND sample.position IS NOT NULL ORDER BY number",
        [series_id, arm_id],
    ).fetchall()


def targets_measured(connection: Connection[Any], revision_id: int) -> list[Mapping[str, Any]]:
    return connection.execute(
        "SELECT platform, mode, count(*) AS boots FROM arm JOIN run ON run.id = arm.run_id JOIN boot ON boot.arm_id = arm.id"
        " WHERE revision_id = %s GROUP BY 1, 2 ORDER BY 1, 2",
        [revision_id],
    ).fetchall()


def series_rows(connection: Connection[Any], ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    rows = connection.execute(
        "SELECT series.id, series.digest, metric, unit, suite, benchmark, params FROM series"
        " JOIN benchmark_case ON case_id = benchmark_case.id WHERE series.id = ANY(%s)",
        [list(ids)],
    ).fetchall()
    return {row["id"]: row for row in rows}
