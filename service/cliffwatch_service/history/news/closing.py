"""Closes reports that are fixed and verified, and opens those again of which that no longer holds."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from psycopg import Connection

from cliffwatch_service.store.history import ancestry, reports
from cliffwatch_service.store.history.news import fixes
from cliffwatch_service.store.history.news.fixes import LaterChangeRow
from cliffwatch_service.store.history.reports import ReportState

OURS = "cliffwatch"
"""Who closes and opens reports without anybody."""

_REMAINDER = 0.1
"""Of a regression that is back may be left, as a share of its size."""

_MOST_REMAINDER = 0.5
"""And no more than this share, however wide the intervals are."""


def settle_reports(connection: Connection[Any], now: datetime) -> None:
    """Closes a report where confirmed changes after its culprit took every series of it back, and opens it
    again where one of these changes was refuted, or another one took it away. What a person opened again
    stays open until another commit fixes it.
    """

    def follows(culprit: int, base: int) -> bool:
        return culprit == base or ancestry.is_ancestor(connection, culprit, base)

    for _, group in groupby(fixes.later_changes(connection), key=lambda row: row.report_id):
        rows = list(group)
        own, fix = rows[0], fix_of(rows, follows)
        if fix is not None and own.state != "fixed" and fix != own.declined:
            fixes.keep_fix(connection, own.report_id, fix, by=OURS, verified=True, now=now)
            _say(
                connection,
                own,
                "fixed",
                f"verified: every series of it is back where it was, since {fix[:12]}",
                now,
            )
        elif fix is None and own.state == "fixed":
            fixes.remove_fix(connection, own.report_id)
            _say(
                connection,
                own,
                "new",
                "open again: measurements no longer show every series back where it was",
                now,
            )


def _say(
    connection: Connection[Any], own: LaterChangeRow, state: ReportState, note: str, now: datetime
) -> None:
    reports.set_triage(connection, own.report_id, state=state, owner=own.owner, note=note, by=OURS, now=now)


def fix_of(rows: Sequence[LaterChangeRow], follows: Callable[[int, int], bool]) -> str | None:
    """The commit with which every series of a report came back to its level; None where one did not.
    `follows` says whether a revision is another one or comes after it.
    """
    last: dict[int, str] = {}
    for series, group in groupby(rows, key=lambda row: row.series_id):
        own = list(group)
        later = [
            each
            for each in own
            if each.later_base_id is not None and follows(each.culprit_id, each.later_base_id)
        ]
        better = [each for each in later if each.later_head is not None and _later(each) * _worse(each) < 0]
        if not better or not _is_back(own[0], later):
            return None
        newest = better[-1]
        assert newest.later_head is not None
        last[series] = newest.later_head
    heads = list(last.values())  # nearly always one commit
    return max(heads, key=heads.count) if heads else None


def _is_back(own: LaterChangeRow, later: Sequence[LaterChangeRow]) -> bool:
    if own.worse_base is not None and own.worse_head is not None:
        return _is_back_at(own.worse_base, own.worse_head, later[-1])
    worse = _worse(own)
    left = (worse + sum(_later(each) for each in later)) * math.copysign(1, worse)
    widths = [
        _width(own.worse_low, own.worse_high),
        *(_width(each.later_low, each.later_high) for each in later),
    ]
    allowed = max(_REMAINDER * abs(worse), math.hypot(*widths))
    return left <= min(allowed, _MOST_REMAINDER * abs(worse))


def _is_back_at(level: float, worse: float, newest: LaterChangeRow) -> bool:
    """Where a regression has no percentage, values alone tell; what the newest change read has none either
    where the level is zero.
    """
    if newest.later_head_value is None:
        return False
    left = (newest.later_head_value - level) * math.copysign(1, worse - level)
    return left <= _REMAINDER * abs(worse - level)


def _worse(own: LaterChangeRow) -> float:
    return _scaled_change(own.worse, own.worse_base, own.worse_head)


def _later(each: LaterChangeRow) -> float:
    return _scaled_change(each.later, each.later_base_value, each.later_head_value)


def _scaled_change(change: float | None, base: float | None, head: float | None) -> float:
    """A change on the scale on which changes add up. From or to zero is beyond every other change."""
    if base is not None and head is not None:
        return math.copysign(math.inf, head - base)
    return _size(change)


def _size(change: float | None) -> float:
    """Of a change as a fraction, on the scale on which changes add up."""
    return 0.0 if change is None or change <= -1 else math.log1p(change)


def _width(low: float | None, high: float | None) -> float:
    """Half an interval."""
    return 0.0 if low is None or high is None else abs(_size(high) - _size(low)) / 2
