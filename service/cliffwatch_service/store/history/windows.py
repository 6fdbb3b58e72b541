"""Windows of histories for pictures: many series at once, around a place on a branch."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg import Connection

from cliffwatch_service.postgres.rows import tuple_cursor
from cliffwatch_service.store.history.points import PointRow

NEWEST = 2**31 - 1
"""The place behind the newest revision of every branch."""


class ChangePlaceRow(NamedTuple):
    """Where a change lies on a branch."""

    change: int
    """Id."""
    branch: int
    """Id."""
    base: int
    """Ordinal after which it comes."""
    head: int
    """Ordinal at which it is there at the latest."""


class SeriesBranchRow(NamedTuple):
    """The branch on which a series was measured last."""

    series: int
    """Id."""
    digest: str
    branch: int
    """Id."""


_PLACES = """
SELECT change.id AS change, after.branch_id AS branch,
    coalesce(before.ordinal, after.ordinal - 1) AS base, after.ordinal AS head
FROM change
JOIN branch_revision AS after ON after.revision_id = coalesce(landed_revision_id, head_revision_id)
LEFT JOIN branch_revision AS before
    ON before.branch_id = after.branch_id AND before.revision_id = base_revision_id
        AND landed_revision_id IS NULL
WHERE change.id = ANY(%s)
ORDER BY after.branch_id, change.id
"""


def change_places(connection: Connection[Any], changes: Sequence[int]) -> list[ChangePlaceRow]:
    """Returns where changes lie, on every branch that has them."""
    return tuple_cursor(connection, ChangePlaceRow._make).execute(_PLACES, [list(changes)]).fetchall()


_BRANCHES = """
SELECT series.id AS series, series.digest, newest.branch_id AS branch
FROM series
CROSS JOIN LATERAL (
    SELECT branch_id FROM point
    JOIN arm ON arm.id = arm_id JOIN run ON run.id = run_id AND of_history
    JOIN branch_revision AS member ON member.revision_id = point.revision_id
    WHERE series_id = series.id ORDER BY arm_id DESC, branch_id LIMIT 1
) AS newest
WHERE series.digest = ANY(%s)
"""


def newest_branches(connection: Connection[Any], digests: Sequence[str]) -> list[SeriesBranchRow]:
    """Returns the branches on which these series were measured last. Leaves out series on no branch."""
    return tuple_cursor(connection, SeriesBranchRow._make).execute(_BRANCHES, [list(digests)]).fetchall()


class BranchPlaceRow(NamedTuple):
    """The place of a revision on a branch."""

    branch: int
    """Id."""
    ordinal: int


def branches_with(connection: Connection[Any], revision: int) -> list[BranchPlaceRow]:
    """Returns the branches that have a revision, oldest branch first."""
    query = (
        "SELECT branch_id AS branch, ordinal FROM branch_revision WHERE revision_id = %s ORDER BY branch_id"
    )
    return tuple_cursor(connection, BranchPlaceRow._make).execute(query, [revision]).fetchall()


_WINDOW = """
WITH target AS MATERIALIZED (
    SELECT DISTINCT platform, mode FROM series WHERE digest = ANY(%(series)s)
), member AS MATERIALIZED (
    SELECT revision.* FROM target CROSS JOIN LATERAL (
    (SELECT platform, mode, ordinal, revision_id FROM branch_revision AS own
    WHERE branch_id = %(branch)s AND ordinal <= %(middle)s AND EXISTS (
        SELECT FROM arm JOIN run ON run.id = run_id WHERE arm.revision_id = own.revision_id AND of_history
            AND run.platform = target.platform AND run.mode = target.mode)
    ORDER BY ordinal DESC LIMIT %(before)s)
  UNION ALL
    (SELECT platform, mode, ordinal, revision_id FROM branch_revision AS own
    WHERE branch_id = %(branch)s AND ordinal > %(middle)s AND EXISTS (
        SELECT FROM arm JOIN run ON run.id = run_id WHERE arm.revision_id = own.revision_id AND of_history
            AND run.platform = target.platform AND run.mode = target.mode)
    ORDER BY ordinal LIMIT %(after)s)
    ) AS revision
)
SELECT DISTINCT ON (series.id, member.ordinal) series.digest, member.ordinal, revision.commit,
    revision.release, n, centre, low, high, epoch, run.digest,
    coalesce(revision.committed, revision.authored, run.created), NULL::float8
FROM member
JOIN revision ON revision.id = member.revision_id
JOIN arm ON arm.revision_id = member.revision_id
JOIN run ON run.id = run_id AND of_history AND run.platform = member.platform AND run.mode = member.mode
JOIN series ON series.digest = ANY(%(series)s)
    AND series.platform = member.platform AND series.mode = member.mode
JOIN point ON point.arm_id = arm.id AND series_id = series.id
JOIN environment ON environment.id = point.environment_id
ORDER BY series.id, member.ordinal, arm.id DESC
"""


def window(
    connection: Connection[Any],
    branch: int,
    digests: Sequence[str],
    *,
    middle: int = NEWEST,
    before: int,
    after: int = 0,
) -> dict[str, list[PointRow]]:
    """Returns the points of series along a branch, oldest first, by the digest of the series.

    - `middle`: ordinal; a window has at most `before` measured revisions up to it and `after` behind it.

    Anchors are left out.
    """
    wanted = {
        "series": list(digests),
        "branch": branch,
        "middle": middle,
        "before": before,
        "after": after,
    }
    points: dict[str, list[PointRow]] = {}
    for digest, *fields in connection.execute(_WINDOW, wanted, binary=True).fetchall():
        points.setdefault(digest, []).append(PointRow.of_row(fields))
    return points
