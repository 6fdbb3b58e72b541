"""Finds which changes of wide ranges the changes of narrower ranges explain. Pure.

A comparison across several revisions shows the changes of all commits between them. Once narrower comparisons
show the same changes, the wide change says nothing more and would be reported twice.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cliffwatch_service.store.history.ranges import RangeChangeRow

_MOST_LEFT = 0.5
"""Largest share of a change that may remain unexplained. Bisections of times accept the same share."""

_DIFFERENCE_SHARE = 0.1
"""Largest share of a change without a percentage that may remain unexplained."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A change with the changes of narrower ranges that explain it."""

    wide: RangeChangeRow
    narrow: Sequence[RangeChangeRow]


@dataclass(frozen=True, slots=True)
class RangesSettled:
    """What the changes of one series on one branch say of each other."""

    explained: Sequence[Explanation]
    """Confirmed changes that are to be superseded."""
    restored: Sequence[RangeChangeRow]
    """Superseded changes that are to be confirmed again."""


def settle_series(
    rows: Sequence[RangeChangeRow], band: float | None, refuted: Collection[int] = ()
) -> RangesSettled:
    """Finds the wide changes that are explained, and those that are no longer.

    - `rows`: confirmed and superseded changes of one series on one branch, and its `refuted` ones.
    - `band`: repeatability band of a counted series, a fraction; None for a noisy series.
    - `refuted`: ids of changes that were refuted just now. Superseded changes around them are confirmed again
      unless other changes explain them.
    """
    gone = [row for row in rows if row.id in refuted]
    standing: list[RangeChangeRow] = []
    explained: list[Explanation] = []
    restored: list[RangeChangeRow] = []
    for row in sorted(rows, key=lambda row: (row.until - row.after, row.id)):
        confirmed = row.state == "confirmed"
        if not confirmed and not (row.state == "superseded" and any(_holds(row, each) for each in gone)):
            continue
        narrow = _disjoint([each for each in standing if _holds(row, each)])
        if not is_explained(row, narrow, band):
            standing.append(row)
            restored += [] if confirmed else [row]
        elif confirmed:
            explained.append(Explanation(row, narrow))
    return RangesSettled(explained, restored)


def is_explained(wide: RangeChangeRow, narrow: Sequence[RangeChangeRow], band: float | None) -> bool:
    """Whether changes of narrower ranges add up to a change.

    `band` is the repeatability band of a counted series, a fraction; None for a noisy series. What remains
    must be within the band and the intervals. For a noisy series, half of the change may remain.
    """
    if not narrow:
        return False
    if wide.size is None:
        return _is_difference_explained(wide, narrow)
    if any(each.size is None for each in narrow):
        return False
    size = _log(wide.size)
    left = abs(size - sum(_log(each.size) for each in narrow))
    if band is None:
        return left <= _MOST_LEFT * abs(size)
    widths = math.hypot(*(_half_width(each) for each in (wide, *narrow)))
    return left <= min(max(math.log1p(band), widths), _MOST_LEFT * abs(size))


def _is_difference_explained(wide: RangeChangeRow, narrow: Sequence[RangeChangeRow]) -> bool:
    """Whether changes explain one from or to zero, which has values in place of a percentage."""
    whole = _difference(wide)
    left = whole - sum(_difference(each) for each in narrow)
    return abs(left) <= _DIFFERENCE_SHARE * abs(whole)


def _difference(row: RangeChangeRow) -> float:
    """Returns head - base of a change without a percentage; 0 for other changes, whose values are unknown."""
    return 0.0 if row.base_value is None or row.head_value is None else row.head_value - row.base_value


def _holds(wide: RangeChangeRow, narrow: RangeChangeRow) -> bool:
    """Whether a range holds another one and is wider."""
    inside = wide.after <= narrow.after and narrow.until <= wide.until
    return inside and narrow.until - narrow.after < wide.until - wide.after


def _disjoint(rows: Sequence[RangeChangeRow]) -> list[RangeChangeRow]:
    """Returns the narrowest changes whose ranges do not overlap. `rows` are sorted, narrowest first."""
    chosen: list[RangeChangeRow] = []
    for row in rows:
        if all(row.until <= each.after or each.until <= row.after for each in chosen):
            chosen.append(row)
    return chosen


def _log(size: float | None) -> float:
    return -math.inf if size is None or size <= -1 else math.log1p(size)


def _half_width(row: RangeChangeRow) -> float:
    """Returns half the width of an interval on the log scale; 0 without an interval."""
    if row.ci_low is None or row.ci_high is None or row.ci_low <= -1:
        return 0.0
    return abs(math.log1p(row.ci_high) - math.log1p(row.ci_low)) / 2
