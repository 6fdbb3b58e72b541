"""Describes the course and the breakpoints of both sides of a curve."""

from collections.abc import Sequence

import numpy as np

from cliffwatch.stats.curves.breakpoints import Breakpoint, NoBreakpoint
from cliffwatch.stats.curves.placing import LEAST_SLOPE


def words_of(
    base: Breakpoint | NoBreakpoint,
    head: Breakpoint | NoBreakpoint,
    parameter: str,
    measured: Sequence[float],
) -> str:
    ours, theirs = (_side(each, parameter, measured) for each in (base, head))
    if same_course(base, head):
        return ours if isinstance(base, NoBreakpoint) else f"{ours}; unchanged in head"
    return f"{'base: ' if isinstance(base, NoBreakpoint) else ''}{ours}; head: {theirs}"


def same_course(base: Breakpoint | NoBreakpoint, head: Breakpoint | NoBreakpoint) -> bool:
    """True if both sides take the same course, as far as known."""
    if isinstance(base, NoBreakpoint) or isinstance(head, NoBreakpoint):
        return (
            isinstance(base, NoBreakpoint) and isinstance(head, NoBreakpoint) and _alike_courses(base, head)
        )
    return _same_breaks(base, head)


def _same_breaks(base: Breakpoint, head: Breakpoint) -> bool:
    """True if every break of one side could lie where the other side has one."""
    ours, theirs = ((each, *each.further) for each in (base, head))
    return len(ours) == len(theirs) and all(
        any(a.low < b.high and b.low < a.high and (a.step > 0) == (b.step > 0) for b in theirs) for a in ours
    )


def _alike_courses(base: NoBreakpoint, head: NoBreakpoint) -> bool:
    ours, theirs = ((each.course, each.stray and each.stray[0]) for each in (base, head))
    return ours == theirs


def _side(point: Breakpoint | NoBreakpoint, parameter: str, measured: Sequence[float]) -> str:
    if isinstance(point, NoBreakpoint):
        return _course(point, parameter, f"from {parameter} {_plain(measured[0])} to {_plain(measured[-1])}")
    every = sorted((point, *point.further), key=lambda each: each.low)
    return ", ".join(_where(each, parameter, measured) for each in every)


def _course(point: NoBreakpoint, parameter: str, over: str) -> str:
    words = {
        "flat": f"flat {over}, no breakpoint",
        "climbs": f"climbs all the way {over} ({_percent(point.change)}), no breakpoint",
        "falls": f"falls all the way {over} ({_percent(point.change)}), no breakpoint",
        "uneven": f"no breakpoint {over}",
    }[point.course]
    if point.stray is None:
        return words
    where, distance = point.stray
    side = "above" if distance > 0 else "below"
    return (
        f"{words}; {parameter} {_plain(where)} alone lies {100 * abs(distance):.0f} % {side}: one point is no"
        " breakpoint"
    )


def _where(point: Breakpoint, parameter: str, measured: Sequence[float]) -> str:
    low, high = _plain(point.low), _plain(point.high)
    if point.kind == "jump":
        way = "jumps" if point.step > 0 else "drops"
        return f"{way} between {parameter} {low} and {high} ({_percent(point.step)})"
    if any(point.low < each < point.high for each in measured):
        return (
            f"{_way(point)} somewhere between {parameter} {low} and {high} ({_percent(point.step)} at {high})"
        )
    return f"{_way(point)} from {parameter} {low} on ({_percent(point.step)} at {high})"


def _way(point: Breakpoint) -> str:
    """How the curve continues, compared with its course before."""
    before, after = (_sign(slope) for slope in (point.slope_before, point.slope_after))
    if point.kind != "bend" and after == before:
        return "climbs" if point.step > 0 else "falls"
    steeper = abs(point.slope_after) > abs(point.slope_before)
    return {
        (0, 1): "climbs",
        (-1, 1): "climbs",
        (0, -1): "falls",
        (1, -1): "falls",
        (1, 1): "climbs faster" if steeper else "climbs less",
        (-1, -1): "falls faster" if steeper else "falls less",
        (1, 0): "levels off",
        (-1, 0): "levels off",
        (0, 0): "climbs" if point.step > 0 else "falls",
    }[before, after]


def _sign(slope: float) -> int:
    return 0 if abs(slope) < LEAST_SLOPE else int(np.sign(slope))


def _percent(fraction: float) -> str:
    return f"{100 * fraction:+.0f} %"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)
