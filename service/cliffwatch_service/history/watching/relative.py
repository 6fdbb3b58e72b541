"""Expresses histories relative to the anchor of the same run, so that a host's drift cancels."""

from collections.abc import Sequence
from typing import TypeVar

from cliffwatch.stats.history.steps import AFTER, BEFORE
from cliffwatch_service.store.history.points import RecentPointRow
from cliffwatch_service.store.history.watching import TrendPointRow

FEWEST = BEFORE + AFTER
"""Fewest revisions with the same anchor for watching a history relative to it. Fewer cannot show a step."""

Row = TypeVar("Row", RecentPointRow, TrendPointRow)


def newest_anchor(rows: Sequence[Row]) -> int | None:
    """Returns the revision id of the newest points' anchor; None if the newest `AFTER` revisions have none.

    `rows` must be in the branch's order.
    """
    seen: set[int] = set()
    for row in reversed(rows):
        seen.add(row.ordinal)
        if len(seen) > AFTER:
            return None
        if row.anchor_id is not None:
            return row.anchor_id
    return None


def relative_to_anchor(rows: Sequence[Row], fewest: int = FEWEST) -> list[Row] | None:
    """Returns the points with the newest anchor, one per revision, as fractions of the anchor's value.

    The anchor's value is from the same run, so from the same host. Points without this anchor are left out:
    the relative history begins where its anchor does. None if fewer than `fewest` revisions have the anchor;
    the caller then watches the points as they are.
    """
    anchor = newest_anchor(rows)
    if anchor is None:
        return None
    own = {row.ordinal: row for row in rows if row.anchor_id == anchor}
    if len(own) < fewest:
        return None
    return [row._replace(centre=row.centre / row.anchor) for row in own.values() if row.anchor is not None]
