"""Closes a report once measurements verify its fix, and reopens it if they no longer do."""

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
"""Name under which reports are closed and reopened automatically."""

_REMAINDER = 0.1
"""Largest share of a regression that may remain for its series to count as back."""

_MOST_REMAINDER = 0.5
"""Upper bound on the share that may remain, however wide the intervals are."""


def settle_reports(connection: Connection[Any], now: datetime) -> None:
    """Closes a report if confirmed changes after its culprit brought every series back to its level.

    A report without a confirmed regression is closed as noise.

    Reopens the report if such a change was refuted, or if a later change undid it. A report that a person
    reopened stays open until another commit fixes it.
    """
    _withdraw_refuted(connection, now)

    def follows(culprit: int, base: int) -> bool:
        return culprit == base or ancestry.is_ancestor(connection, culprit, base)

    for _, group in groupby(fixes.later_changes(connection), key=lambda row: row.report_id):
        rows = list(group)
        own, fix = rows[0], fix_of(rows, follows)
        if fix is not None and own.state != "fixed" and fix != own.declined:
            fixes.keep_fix(connection, own.report_id, fix, by=OURS, verified=True, now=now)
            _set_state(
                connection,
                own,
                "fixed",
                f"verified: every series of it is back where it was, since {fix[:12]}",
                now,
            )
        elif fix is None and own.state == "fixed":
            fixes.remove_fix(connection, own.report_id)
            _set_state(
                connection,
                own,
                "new",
                "open again: measurements no longer show every series back where it was",
                now,
            )


def _withdraw_refuted(connection: Connection[Any], now: datetime) -> None:
    """Closes reports of which no regression is left, and opens them again if a measurement shows one."""
    for each in reports.open_reports_without_regressions(connection):
        note = "withdrawn: further measurements show none of its regressions"
        reports.set_triage(connection, each.id, state="noise", owner=each.owner, note=note, by=OURS, now=now)
    for each in reports.withdrawn_reports_with_regressions(connection, OURS):
        note = "open again: further measurements show a regression of it"
        reports.set_triage(connection, each.id, state="new", owner=each.owner, note=note, by=OURS, now=now)


def _set_state(
    connection: Connection[Any], own: LaterChangeRow, state: ReportState, note: str, now: datetime
) -> None:
    reports.set_triage(connection, own.report_id, state=state, owner=own.owner, note=note, by=OURS, now=now)


def fix_of(rows: Sequence[LaterChangeRow], follows: Callable[[int, int], bool]) -> str | None:
    """Returns the commit that brought the series of a report back to their levels.

    If several commits did, returns the one that brought back the most series. None if any series is not
    back. `follows(culprit, base)` is True if `base` is the culprit or comes after it.
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
    """Whether the later changes of a series undo its regression.

    What may remain of the regression is _REMAINDER or the combined width of the intervals, whichever is
    larger, but at most _MOST_REMAINDER.
    """
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
    """Whether the value after the newest change is back at `level`.

    Used for a regression without a percentage, whose value went from `level` to `worse`. A change back to
    zero has no percentage either, so its values are known. False if the newest change has none.
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
    """Returns a change on the log scale, where changes add up. A change from or to zero is infinite."""
    if base is not None and head is not None:
        return math.copysign(math.inf, head - base)
    return _size(change)


def _size(change: float | None) -> float:
    """Returns the log of a change that is a fraction. 0 for None and for -1 or less."""
    return 0.0 if change is None or change <= -1 else math.log1p(change)


def _width(low: float | None, high: float | None) -> float:
    """Returns half the width of an interval on the log scale; 0 without an interval."""
    return 0.0 if low is None or high is None else abs(_size(high) - _size(low)) / 2
