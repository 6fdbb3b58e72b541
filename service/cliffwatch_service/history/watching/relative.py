"""Histories as they are watched: relative to the anchor of the same run where they have one, so that a host's drift cancels."""

import math
from collections.abc import Sequence
from typing import TypeVar

from cliffwatch.stats.history.steps import AFTER, BEFORE
from cliffwatch_service.store.history.points import RecentPointRow
from cliffwatch_service.store.history.watching import TrendPointRow

FEWEST = BEFORE + AFTER
"""Revisions that need the same anchor before a history is watched relative to it: with fewer no step of it would be seen."""

Row = TypeVar("Row", RecentPointRow, TrendPointRow)


def newest_anchor(rows: Sequence[Row]) -> int | None:
    """The revision that is the anchor of the newest points (rows in a branch's order); None where the newest `AFTER` revisions had none."""
    recent = sorted({row.ordinal for row in rows})[-AFTER:]
    anchors = [row.anchor_id for row in rows if row.ordinal >= recent[0] and usable(row)]
    return anchors[-1] if anchors else None


def relative(rows: Sequence[Row], fewest: int = FEWEST) -> list[Row] | None:
    """The points that have the newest anchor, as fractions of what that read in the same run, on the same host; None where so few revisions
    have it that the points are better watched as they are. Points without it belong to no such history, which begins where it begins.
    """
    anchor = newest_anchor(rows)
    own = [
        row._replace(centre=row.centre / row.anchor)
        for row in rows
        if row.anchor is not None and row.anchor_id == anchor and usable(row)
    ]
    return own if len({row.ordinal for row in own}) >= fewest else None


def usable(row: Row) -> bool:
    """Whether a point has an anchor that it can be divided by."""
    return row.anchor is not None and 0 < row.anchor < math.inf
