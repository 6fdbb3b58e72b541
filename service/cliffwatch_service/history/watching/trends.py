"""Finds slow trends: series that drift without a step."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import numpy as np
from psycopg import Connection

from cliffwatch.stats.history.steps import steps
from cliffwatch.stats.history.trend import FEWEST, slow_trend
from cliffwatch.stats.rank_tables import Values
from cliffwatch_service.history.watching.relative import relative_to_anchor
from cliffwatch_service.store.history import watching
from cliffwatch_service.store.history.watching import TrendFacts, TrendPointRow, TrendSince

MOST_TREND_POINTS = 150
"""Most revisions of a branch whose points are read."""

_SINCE: tuple[TrendSince, ...] = ("release", "90 days")


def look_for_trends(connection: Connection[Any], now: datetime) -> int:
    """Finds and stores the slow trends of every measured branch. Returns their number.

    Looks at the last ninety days, and within them at the revisions with the newest revision's release.
    """
    count = 0
    for branch_id in watching.branches_measured(connection):
        rows = watching.trend_points(connection, branch_id, MOST_TREND_POINTS)
        trends = [
            trend
            for _, group in groupby(rows, key=lambda row: row.series_id)
            for trend in _trends(list(group))
        ]
        watching.replace_trends(connection, branch_id, trends, now)
        count += len(trends)
    return count


def _trends(rows: Sequence[TrendPointRow]) -> Iterator[TrendFacts]:
    newest = rows[-1]
    comparable = [row for row in rows if row.epoch == newest.epoch]
    by_ordinal = {row.ordinal: row for row in relative_to_anchor(comparable, FEWEST) or comparable}
    points = [by_ordinal[ordinal] for ordinal in sorted(by_ordinal)]
    for since in _SINCE:
        own = [row for row in points if since == "90 days" or row.release == newest.release]
        if (newest.release is None and since == "release") or any(row.centre <= 0 for row in own):
            continue
        trend = slow_trend(_remove_steps(np.log([row.centre for row in own]))) if own else None
        if trend is not None:
            yield TrendFacts(
                series_id=newest.series_id,
                since=since,
                base_revision_id=own[0].revision_id,
                head_revision_id=own[-1].revision_id,
                total=trend.total,
                p=trend.p,
                points=len(own),
            )


def _remove_steps(logs: Values) -> Values:
    """Removes the steps from a series: a step is reported as a change, not as a trend."""
    level = np.zeros(len(logs))
    for step in steps(logs):
        level[step.index :] += np.log1p(step.size)
    return np.asarray(logs - level)
