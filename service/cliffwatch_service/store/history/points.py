"""Points: the values of series at revisions, and their places on branches."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from psycopg import Connection

from cliffwatch_service.postgres.rows import pairs, tuple_cursor
from cliffwatch_service.store.history.measured_arms import ArmPlace, MeasuredArms

Point = tuple[int, int, float, float | None, float | None]
"""Series, number of boots, and their median with its bounds."""


class PointRow(msgspec.Struct, frozen=True, gc=False):
    """A series at a revision. A struct, since histories have thousands, which are written as JSON at once."""

    ordinal: int | None
    """Place on a branch; None without a branch."""
    commit: str
    release: str | None
    n: int
    """Number of boots."""
    centre: float
    """Median over the boots."""
    low: float | None
    """Lower bound of the median; None for too few boots."""
    high: float | None
    """Upper bound of the median; None for too few boots."""
    epoch: str
    run: str
    """Digest."""
    at: datetime
    """When the revision was written; if that is unknown, when it was first measured."""
    anchor: float | None
    """The anchor's value in the same run; None if the run had no anchor."""

    @classmethod
    def of_row(cls, row: Iterable[Any]) -> "PointRow":
        return cls(*row)


class RecentPointRow(NamedTuple):
    """A series at a revision of a branch, as one run measured it."""

    series_id: int
    ordinal: int
    revision_id: int
    centre: float
    epoch: str
    run_id: int
    host_id: int | None
    """None if the run names no host."""
    anchor_id: int | None
    """Revision of the anchor."""
    anchor: float | None
    """The anchor's value in the same run; None if it is missing, infinite or not positive."""


class SeriesPointRow(msgspec.Struct, frozen=True, gc=False):
    """A series as an arm measured it. Not tracked by the garbage collector: a history has ten thousand."""

    arm_id: int
    environment_id: int
    n: int
    centre: float
    low: float | None
    high: float | None

    @classmethod
    def of_row(cls, row: Iterable[Any]) -> "SeriesPointRow":
        return cls(*row)


def replace_points(
    connection: Connection[Any], arm_id: int, revision_id: int, environment_id: int, points: Sequence[Point]
) -> None:
    """Replaces an arm's points (series, n, centre, low, high) in these series."""
    series = [point[0] for point in points]
    connection.execute("DELETE FROM point WHERE arm_id = %s AND series_id = ANY(%s)", [arm_id, series])
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY point (series_id, arm_id, revision_id, environment_id, n, centre, low, high)"
            " FROM STDIN (FORMAT binary)"
        ) as copy,
    ):
        copy.set_types(["int4", "int8", "int4", "int4", "int2", "float8", "float8", "float8"])
        for identity, n, centre, low, high in sorted(points):
            copy.write_row((identity, arm_id, revision_id, environment_id, n, centre, low, high))


_OF_SERIES = (
    "SELECT arm_id, environment_id, n, centre, low, high FROM point WHERE series_id = %(series)s"
    " ORDER BY arm_id DESC"
)
_EPOCHS = "SELECT id, epoch FROM environment WHERE id = ANY(%(environments)s)"

_WITHOUT_BRANCH = """
SELECT NULL::int AS ordinal, newest.commit, newest.release, n, centre, low, high, epoch, run, at, anchor
FROM (
    SELECT DISTINCT ON (revision.id) revision.commit, revision.release, point.n, point.centre, point.low,
        point.high,
           environment.epoch, coalesce(revision.committed, revision.authored) AS written, point.arm_id,
           run.digest AS run, coalesce(revision.committed, revision.authored,
               (SELECT min(created) FROM arm JOIN run ON run.id = run_id
                   WHERE arm.revision_id = revision.id)) AS at,
           anchor_point.centre AS anchor
    FROM point
    JOIN arm ON arm.id = point.arm_id
    JOIN run ON run.id = arm.run_id
    JOIN revision ON revision.id = point.revision_id
    JOIN environment ON environment.id = point.environment_id
    LEFT JOIN anchor_point ON anchor_point.series_id = point.series_id AND anchor_point.run_id = run.id
    WHERE point.series_id = %(series)s AND run.of_history
    ORDER BY revision.id, point.arm_id DESC
) AS newest
ORDER BY written DESC NULLS LAST, arm_id DESC LIMIT %(limit)s
"""


def history(
    connection: Connection[Any], known: MeasuredArms, series_id: int, branch_id: int | None, limit: int
) -> list[PointRow]:
    """Returns a series' points from runs of history, newest first.

    Each revision has one, its newest measurement. On a branch, the points are in the branch's order; else by
    date.
    """
    if branch_id is None:
        return points_by_date(connection, series_id, limit)
    return points_on_branch(connection, known, series_id, branch_id, limit)


def points_by_date(connection: Connection[Any], series_id: int, limit: int) -> list[PointRow]:
    wanted = {"series": series_id, "limit": limit}
    return tuple_cursor(connection, PointRow.of_row).execute(_WITHOUT_BRANCH, wanted, binary=True).fetchall()


def points_on_branch(
    connection: Connection[Any], known: MeasuredArms, series_id: int, branch_id: int, limit: int
) -> list[PointRow]:
    points = (
        tuple_cursor(connection, SeriesPointRow.of_row)
        .execute(_OF_SERIES, {"series": series_id}, binary=True)
        .fetchall()
    )
    places = known.places(connection, branch_id, [point.arm_id for point in points])
    newest: dict[int, tuple[ArmPlace, SeriesPointRow]] = {}
    for point in points:
        place = places.get(point.arm_id)
        if place is not None and place.ordinal is not None:
            newest.setdefault(place.ordinal, (place, point))
    anchors = anchor_values(connection, series_id)
    epochs = _epochs(connection, {point.environment_id for _, point in newest.values()})
    return [
        PointRow(
            ordinal,
            place.commit,
            place.release,
            point.n,
            point.centre,
            point.low,
            point.high,
            epochs[point.environment_id],
            place.run,
            place.at,
            anchors.get(place.run),
        )
        for ordinal in sorted(newest, reverse=True)[:limit]
        for place, point in (newest[ordinal],)
    ]


def _epochs(connection: Connection[Any], environments: Collection[int]) -> dict[int, str]:
    asked = {"environments": list(environments)}
    return dict(pairs(connection, int, str).execute(_EPOCHS, asked).fetchall())


def anchor_values(connection: Connection[Any], series_id: int) -> dict[str, float]:
    """Returns the anchor's values in runs of history, by the digest of the run."""
    query = (
        "SELECT run.digest AS run, centre FROM anchor_point JOIN run ON run.id = run_id"
        " WHERE series_id = %s AND run.of_history"
    )
    return dict(pairs(connection, str, float).execute(query, [series_id], binary=True).fetchall())


_RECENT = """
SELECT point.series_id, member.ordinal, point.revision_id, point.centre, environment.epoch, run.id AS run_id,
    run.host_id, anchor_point.revision_id AS anchor_id, anchor_point.centre AS anchor
FROM (
    SELECT ordinal, revision_id FROM branch_revision AS own
    WHERE branch_id = %(branch)s
      AND EXISTS (SELECT FROM arm JOIN run ON run.id = run_id
          WHERE arm.revision_id = own.revision_id AND of_history)
    ORDER BY ordinal DESC LIMIT %(limit)s
) AS member
JOIN arm ON arm.revision_id = member.revision_id
JOIN run ON run.id = arm.run_id AND run.of_history
JOIN environment ON environment.id = run.environment_id
JOIN point ON point.arm_id = arm.id
LEFT JOIN anchor_point ON anchor_point.series_id = point.series_id AND anchor_point.run_id = run.id
    AND anchor_point.centre > 0 AND anchor_point.centre < 'infinity'
ORDER BY point.series_id, member.ordinal, run.created, run.digest, point.arm_id
"""


def recent_points(connection: Connection[Any], branch_id: int, limit: int) -> list[RecentPointRow]:
    """Returns the points of a branch's newest `limit` measured revisions, by series and place on the branch.

    Points of one revision are in the order of measurement, not of upload.
    """
    wanted = {"branch": branch_id, "limit": limit}
    return tuple_cursor(connection, RecentPointRow._make).execute(_RECENT, wanted, binary=True).fetchall()


class ArmPointRow(NamedTuple):
    """A point of an arm."""

    params: list[list[str]]
    metric: str
    unit: str
    n: int
    """Number of boots."""
    centre: float
    """Median over the boots."""
    low: float | None
    """Lower bound of the median; None for too few boots."""
    high: float | None
    """Upper bound of the median; None for too few boots."""


_OF_ARM = """
SELECT params, metric, unit, n, centre, low, high
FROM point JOIN series ON series.id = series_id JOIN benchmark_case ON benchmark_case.id = case_id
WHERE arm_id = %(arm)s AND suite = %(suite)s AND benchmark = %(benchmark)s
ORDER BY series.id LIMIT %(limit)s
"""


def points_of_arm(
    connection: Connection[Any], arm_id: int, suite: str, benchmark: str, limit: int
) -> list[ArmPointRow]:
    """Returns an arm's points in the cases of a benchmark, in every metric."""
    wanted = {"arm": arm_id, "suite": suite, "benchmark": benchmark, "limit": limit}
    return tuple_cursor(connection, ArmPointRow._make).execute(_OF_ARM, wanted).fetchall()


def benchmarks_of_arms(connection: Connection[Any], arms: Sequence[int]) -> list[tuple[str, str]]:
    """Returns the suites and benchmarks that any of these arms measured."""
    query = (
        "SELECT DISTINCT suite, benchmark FROM point JOIN series ON series.id = series_id"
        " JOIN benchmark_case ON benchmark_case.id = case_id WHERE arm_id = ANY(%s) ORDER BY 1, 2"
    )
    return pairs(connection, str, str).execute(query, [list(arms)]).fetchall()
