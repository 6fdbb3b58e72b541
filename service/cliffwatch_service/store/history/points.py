"""Points: what series read at revisions, and where on branches."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import Connection

from cliffwatch_service.postgres.rows import many

Point = tuple[int, int, float, float | None, float | None]
"""Series, boots, and their median with its bounds."""


class PointRow(NamedTuple):
    """A series at a revision, over `n` boots of `run`: the median and its bounds, None from too few boots. `ordinal` is its place on
    a branch; `at` when the revision was written, or measured first where that is not known.
    """

    ordinal: int | None
    commit: str
    release: str | None
    n: int
    centre: float
    low: float | None
    high: float | None
    epoch: str
    run: str
    at: datetime


class RecentPointRow(NamedTuple):
    """A series at a revision of a branch."""

    series_id: int
    ordinal: int
    revision_id: int
    centre: float
    epoch: str


def replace_points(
    connection: Connection[Any], arm_id: int, revision_id: int, environment_id: int, points: Sequence[Point]
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


def history(connection: Connection[Any], series_id: int, branch_id: int | None, limit: int) -> list[PointRow]:
    """A series' points, one a revision (its newest measurement), the newest first: in a branch's order, else by date. Of runs of
    history alone.
    """
    query = _HISTORY_WITHOUT_BRANCH if branch_id is None else _HISTORY
    wanted = {"series": series_id, "branch": branch_id, "limit": limit}
    return many(connection, PointRow._make).execute(query, wanted, binary=True).fetchall()


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


def recent_points(connection: Connection[Any], branch_id: int, limit: int) -> list[RecentPointRow]:
    """The points of a branch's newest `limit` measured revisions, by series and then in the branch's order."""
    wanted = {"branch": branch_id, "limit": limit}
    return many(connection, RecentPointRow._make).execute(_RECENT, wanted, binary=True).fetchall()
