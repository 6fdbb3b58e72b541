"""Closes a report once measurements verify its fix, and reopens it if they no longer do."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

from psycopg import Connection

from cliffwatch_service.history.change_words import fix_words
from cliffwatch_service.store.history import ancestry, reports
from cliffwatch_service.store.history.news import fixes
from cliffwatch_service.store.history.news.fixes import FixRow, LaterChangeRow
from cliffwatch_service.store.history.reports import ReportState

OURS = "cliffwatch"
"""Name under which reports are closed and reopened automatically."""

_REMAINDER = 0.1
"""Largest share of a regression that may remain for its series to count as back."""

_MOST_REMAINDER = 0.5
"""Upper bound on the share that may remain, however wide the intervals are."""


Span = tuple[int, int]


class Fix(NamedTuple):
    """A commit that fixed a report, or a range of commits of which one did."""

    commit: str
    """The commit itself, or the last of the range."""
    base: str | None
    """The commit before the range; None if the commit is known."""
    commit_id: int
    """Id of the revision `commit`."""
    base_id: int
    """Id of the revision before the commit or range."""

    def words(self) -> str:
        return fix_words(self.commit, self.base)


def settle_reports(connection: Connection[Any], now: datetime) -> None:
    """Closes a report if confirmed changes after its culprit brought every series back to its level.

    A report without a confirmed regression is closed as noise.

    Reopens the report if such a change was refuted, or if a later change undid it. A report that a person
    reopened stays open until another commit fixes it.
    """
    _withdraw_refuted(connection, now)

    @cache
    def follows(culprit: int, base: int) -> bool:
        return culprit == base or ancestry.is_ancestor(connection, culprit, base)

    for _, group in groupby(fixes.later_changes(connection), key=lambda row: row.report_id):
        rows = list(group)
        _settle(connection, rows[0], fix_of(rows, follows), now)


def _settle(connection: Connection[Any], own: LaterChangeRow, fix: Fix | None, now: datetime) -> None:
    """Closes or reopens one report. If it is closed, names the commit of its fix once that is known."""
    if fix is None:
        if own.state == "fixed":
            fixes.remove_fix(connection, own.report_id)
            note = "open again: measurements no longer show every series back where it was"
            _set_state(connection, own, "new", note, now)
        return
    row = FixRow(commit=fix.commit, base=fix.base, by=OURS, at=now, verified=True)
    if own.state == "fixed":
        if (fix.commit, fix.base) != (own.fix, own.fix_base):
            fixes.keep_fix(connection, own.report_id, row)
    elif not _is_declined(connection, own, fix):
        fixes.keep_fix(connection, own.report_id, row)
        note = f"verified: every series of it is back where it was, since {fix.words()}"
        _set_state(connection, own, "fixed", note, now)


def _is_declined(connection: Connection[Any], own: LaterChangeRow, fix: Fix) -> bool:
    """Whether a person said that this commit, or a range that holds it, is not the fix."""
    if own.declined_id is None:
        return False
    if own.declined_base_id is None:
        return own.declined_id == fix.commit_id
    from_it = own.declined_base_id == fix.base_id or ancestry.is_ancestor(
        connection, own.declined_base_id, fix.base_id
    )
    until_it = own.declined_id == fix.commit_id or ancestry.is_ancestor(
        connection, fix.commit_id, own.declined_id
    )
    return from_it and until_it


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


def fix_of(rows: Sequence[LaterChangeRow], follows: Callable[[int, int], bool]) -> Fix | None:
    """Returns the commit, or the range, that brought the series of a report back to their levels.

    If several did, returns the one that brought back the most series. None if any series is not back.
    `rows` are in the order of the branch. `follows(culprit, base)` is True if `base` is the culprit or comes
    after it.
    """
    last: list[Fix] = []
    for _, group in groupby(rows, key=lambda row: row.series_id):
        own = list(group)
        later = [
            each
            for each in own
            if each.later_base_id is not None and follows(each.culprit_id, each.later_base_id)
        ]
        better = [each for each in later if _later(each) * _worse(each) < 0]
        if not better or not _is_back(own[0], _whole_changes(later)):
            return None
        last.append(_fix(better[-1]))
    return max(last, key=last.count) if last else None


def _whole_changes(later: Sequence[LaterChangeRow]) -> list[LaterChangeRow]:
    """Leaves out changes whose range a wider one holds: both measured the same."""
    spans = [span for each in later if (span := _span(each)) is not None]
    return [each for each in later if not any(_holds(span, _span(each)) for span in spans)]


def _span(change: LaterChangeRow) -> Span | None:
    """Returns the range of a change on a branch: after the first ordinal, up to the second.

    None if the change is on no branch.
    """
    if change.later_after is None or change.later_until is None:
        return None
    return change.later_after, change.later_until


def _holds(wide: Span, narrow: Span | None) -> bool:
    return narrow is not None and narrow != wide and wide[0] <= narrow[0] and narrow[1] <= wide[1]


def _fix(change: LaterChangeRow) -> Fix:
    assert change.later_head is not None
    assert change.later_head_id is not None
    assert change.later_base_id is not None
    base = None if change.later_named else change.later_base
    return Fix(change.later_head, base, change.later_head_id, change.later_base_id)


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
