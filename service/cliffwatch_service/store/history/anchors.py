"""Points of anchors: one for each series of a run, measured beside the revisions that the run compares."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor
from cliffwatch_service.store.history.points import Point


def replace_anchor_points(
    connection: Connection[Any], run_id: int, revision_id: int, points: Sequence[Point]
) -> None:
    """Replaces the points (series, n, centre, low, high) of a run's anchor."""
    connection.execute("DELETE FROM anchor_point WHERE run_id = %s", [run_id])
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY anchor_point (series_id, run_id, revision_id, n, centre, low, high)"
            " FROM STDIN (FORMAT binary)"
        ) as copy,
    ):
        copy.set_types(["int4", "int8", "int4", "int2", "float8", "float8", "float8"])
        for identity, n, centre, low, high in sorted(points):
            copy.write_row((identity, run_id, revision_id, n, centre, low, high))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorRow:
    """A revision that is or was the anchor of a series."""

    commit: str
    since: datetime
    """Creation of its first run."""
    until: datetime
    """Creation of its newest run."""
    runs: int
    """Number of runs."""


_ANCHORS = """
SELECT revision.commit, min(run.created) AS since, max(run.created) AS until, count(*) AS runs
FROM anchor_point JOIN run ON run.id = run_id JOIN revision ON revision.id = revision_id
WHERE series_id = %s AND run.of_history GROUP BY revision.commit ORDER BY max(run.created) DESC LIMIT 10
"""


def anchors_of(connection: Connection[Any], series_id: int) -> list[AnchorRow]:
    """Returns the newest ten anchors of a series, newest first."""
    return row_cursor(connection, AnchorRow).execute(_ANCHORS, [series_id]).fetchall()
