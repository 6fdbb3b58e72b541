"""Histories as they are watched: relative to the anchor of the same run where they have one, so that a host's
drift cancels.
"""

from collections.abc import Sequence
from typing import TypeVar

from cliffwatch.stats.history.steps import AFTER, BEFORE
from cliffwatch_service.store.history.points import RecentPointRow
from cliffwatch_service.store.history.watching import TrendPointRow

FEWEST = BEFORE + AFTER
"""Revisions that need the same anchor before a history is watched relative to it: with fewer no step of it
would be seen.
"""

Row = TypeVar("Row", RecentPointRow, TrendPointRow)


def newest_anchor(rows: Sequence[Row]) -> int | None:
    """The revision that is the anchor of the newest points (rows in a branch's order); None where the newest
    `AFTER` revisions had none.
    """
    seen: set[int] = set()
    for row in reversed(rows):
        seen.add(row.ordinal)
        if len(seen) > AFTER:
            return None
        if row.anchor_id is not None:
            return row.anchor_id
    return None


def relative(rows: Sequence[Row], fewest: int = FEWEST) -> list[Row] | None:
    """The points that have the newest anchor, one for each revision, as fractions of what the anchor read in
    the same run, on the same host.

    None where so few revisions have it that the points are better watched as they are. Points without it
    belong to no such history, which begins where its anchor does.
    """
    anchor = newest_anchor(rows)
    if anchor is None:
        return None
    own = {row.ordinal: row for row in rows if row.anchor_id == anchor}
    if len(own) < fewest:
        return None
    return [row._replace(centre=row.centre / row.anchor) for row in own.values() if row.anchor is not None]
