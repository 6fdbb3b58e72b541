"""First-parent lines of revisions: measured ancestors and neighbours, distances, and merge bases."""

from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor, values


@dataclass(frozen=True, slots=True, kw_only=True)
class AncestorRow:
    """An ancestor of a revision."""

    id: int
    commit: str
    distance: int
    """First-parent commits between the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The commits that were measured next before and after a revision."""

    before: str | None
    """None if there is none."""
    after: str | None
    """None if there is none."""
    before_is_first: bool
    """Whether no commit was measured earlier than `before`."""


_FARTHEST = 1000
"""Longest line that is searched, in commits."""

_MEASURED_ANCESTOR = """
WITH RECURSIVE line (id, commit, parents, distance) AS (
    SELECT id, commit, parents, 0 FROM revision WHERE id = %(head)s
  UNION ALL
    SELECT revision.id, revision.commit, revision.parents, distance + 1
    FROM line JOIN revision ON revision.commit = line.parents[1]
    WHERE distance < %(most)s
)
SELECT line.id, line.commit, line.distance FROM line
WHERE distance > 0 AND EXISTS (
    SELECT FROM arm JOIN run ON run.id = run_id
    WHERE revision_id = line.id AND platform = %(platform)s AND mode = %(mode)s
      AND EXISTS (SELECT FROM boot WHERE arm_id = arm.id)
      AND (of_history OR NOT EXISTS (SELECT FROM branch_revision WHERE revision_id = line.id))
)
ORDER BY distance LIMIT 1
"""


def measured_ancestor(connection: Connection[Any], head: int, platform: str, mode: str) -> AncestorRow | None:
    """Returns the nearest first-parent ancestor that was measured on a platform in a mode.

    For an ancestor on a branch, only runs of history count: other uploads are no base for other people.
    """
    wanted = {"head": head, "platform": platform, "mode": mode, "most": _FARTHEST}
    return row_cursor(connection, AncestorRow).execute(_MEASURED_ANCESTOR, wanted).fetchone()


def is_ancestor(connection: Connection[Any], base: int, head: int) -> bool:
    """Whether base is among the nearest first-parent ancestors of head, or comes before it on a branch."""
    if distance(connection, base, head) is not None:
        return True
    common = connection.execute(
        "SELECT 1 FROM branch_revision AS base JOIN branch_revision AS head USING (branch_id)"
        " WHERE base.revision_id = %s AND head.revision_id = %s AND base.ordinal < head.ordinal LIMIT 1",
        [base, head],
    ).fetchone()
    return common is not None


_DISTANCE = """
WITH RECURSIVE line (id, parents, distance) AS (
    SELECT id, parents, 0 FROM revision WHERE id = %(head)s
  UNION ALL
    SELECT revision.id, revision.parents, distance + 1
    FROM line JOIN revision ON revision.commit = line.parents[1]
    WHERE distance < %(most)s AND line.id <> %(base)s
)
SELECT distance FROM line WHERE id = %(base)s
"""


def distance(connection: Connection[Any], base: int, head: int) -> int | None:
    """Returns how many first-parent commits head is after base.

    None if base is not among its nearest ancestors.
    """
    return (
        values(connection, int).execute(_DISTANCE, {"head": head, "base": base, "most": _FARTHEST}).fetchone()
    )


_MERGE_BASE = """
WITH RECURSIVE line (id, parents, distance) AS (
    SELECT id, parents, 0 FROM revision WHERE id = %(head)s
  UNION ALL
    SELECT revision.id, revision.parents, distance + 1
    FROM line JOIN revision ON revision.commit = line.parents[1]
    WHERE distance < %(most)s
), other (id, parents, distance) AS (
    SELECT id, parents, 0 FROM revision WHERE id = %(base)s
  UNION ALL
    SELECT revision.id, revision.parents, distance + 1
    FROM other JOIN revision ON revision.commit = other.parents[1]
    WHERE distance < %(most)s
)
SELECT revision.commit FROM line JOIN other USING (id) JOIN revision USING (id) ORDER BY line.distance LIMIT 1
"""


def merge_base(connection: Connection[Any], base: int, head: int) -> str | None:
    """Returns the newest commit on the first-parent lines of both; None if the known lines do not meet."""
    return (
        values(connection, str)
        .execute(_MERGE_BASE, {"base": base, "head": head, "most": _FARTHEST})
        .fetchone()
    )


_PLACE = "SELECT branch_id, ordinal FROM branch_revision WHERE revision_id = %s ORDER BY branch_id LIMIT 1"

_NEIGHBOUR = """
SELECT revision.commit FROM branch_revision AS member JOIN revision ON revision.id = member.revision_id
WHERE branch_id = %(branch)s AND ordinal {beyond} %(ordinal)s AND EXISTS (
    SELECT FROM arm JOIN run ON run.id = run_id WHERE arm.revision_id = member.revision_id AND of_history
      AND (%(platform)s = '' OR platform = %(platform)s) AND (%(mode)s = '' OR mode = %(mode)s)
) ORDER BY ordinal {order} LIMIT 2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRow:
    """The place of a revision on its branch."""

    branch_id: int
    ordinal: int


def measured_neighbours(
    connection: Connection[Any], revision_id: int, *, platform: str = "", mode: str = ""
) -> Neighbours:
    """Returns the neighbours of a revision on its branch that runs of history measured.

    An empty platform or mode leaves it open.
    """
    place = row_cursor(connection, PlaceRow).execute(_PLACE, [revision_id]).fetchone()
    if place is None:
        return Neighbours(before=None, after=None, before_is_first=True)
    wanted = {"branch": place.branch_id, "ordinal": place.ordinal, "platform": platform, "mode": mode}

    def nearest(beyond: str, order: str) -> list[str]:
        query = _NEIGHBOUR.format(beyond=beyond, order=order)
        return values(connection, str).execute(query, wanted).fetchall()

    before, after = nearest("<", "DESC"), nearest(">", "ASC")
    return Neighbours(
        before=next(iter(before), None), after=next(iter(after), None), before_is_first=len(before) < 2
    )
