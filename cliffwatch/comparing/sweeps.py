"""Cases of one benchmark that differ in one number: a curve, and its breakpoints, in words."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cliffwatch.comparing.comparison import Comparison
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.stats.curves.breakpoints import FEWEST, Breakpoint, NoBreakpoint, find_breakpoint
from cliffwatch.stats.curves.placing import LEAST_SLOPE
from cliffwatch.stats.rank_tables import Values

_OF_A_MEDIAN = np.sqrt(np.pi / 2)
"""The standard error of a Gaussian sample's median over that of its mean."""


def sweeps_of(rows: Sequence[Comparison]) -> Iterator[Sweep]:
    """One a benchmark and primary metric whose cases vary one numeric parameter over enough values."""
    groups: dict[tuple[str, str, str], list[Comparison]] = {}
    for row in rows:
        if row.primary and (row.base or 0.0) > 0 and (row.head or 0.0) > 0:
            groups.setdefault((row.case.suite, row.case.benchmark, row.metric), []).append(row)
    for (suite, benchmark, metric), group in groups.items():
        parameter = _varied(group)
        if parameter is not None:
            points = {_number(dict(row.case.params)[parameter]): row for row in group}
            ours, theirs = (_breakpoint(points, side) for side in ("base", "head"))
            words = _words(ours, theirs, parameter, sorted(points))
            yield Sweep(
                suite=suite,
                benchmark=benchmark,
                parameter=parameter,
                metric=metric,
                words=words,
                base_breakpoint=_bounds(ours),
                head_breakpoint=_bounds(theirs),
            )


def _varied(group: Sequence[Comparison]) -> str | None:
    """The one parameter that differs among the cases, if there is one, it is a number, and it has enough values."""
    params = [dict(row.case.params) for row in group]
    names = {name for each in params for name in each}
    varied = [name for name in names if len({each.get(name) for each in params}) > 1]
    if len(varied) != 1 or len(group) < FEWEST:
        return None
    values = [_number(each.get(varied[0], "")) for each in params]
    return varied[0] if min(values) > 0 and len(set(values)) == len(group) else None


def _number(text: str) -> float:
    """The value of a positive number; 0 for anything else."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if np.isfinite(value) else 0.0


def _breakpoint(points: dict[float, Comparison], side: str) -> Breakpoint | NoBreakpoint:
    values = [row.base if side == "base" else row.head for row in points.values()]
    return find_breakpoint(np.array(list(points)), np.array(values, dtype=float), _errors(points.values(), side))


def _errors(rows: Iterable[Comparison], side: str) -> Values | None:
    """The standard errors of one side's medians, as fractions; None where no row has a spread between boots."""
    found = [(row.base_spread, row.n_base) if side == "base" else (row.head_spread, row.n_head) for row in rows]
    if all(spread is None for spread, _ in found):
        return None
    return np.array([_OF_A_MEDIAN * (spread or 0.0) / np.sqrt(max(1, boots)) for spread, boots in found])


def _bounds(point: Breakpoint | NoBreakpoint) -> tuple[float, float] | None:
    return (point.low, point.high) if isinstance(point, Breakpoint) else None


def _words(
    base: Breakpoint | NoBreakpoint, head: Breakpoint | NoBreakpoint, parameter: str, measured: Sequence[float]
) -> str:
    ours, theirs = (_side(each, parameter, measured) for each in (base, head))
    if isinstance(base, NoBreakpoint) and isinstance(head, NoBreakpoint):
        return ours if _alike_courses(base, head) else f"base: {ours}; head: {theirs}"
    if isinstance(base, Breakpoint) and isinstance(head, Breakpoint) and _alike(base, head):
        return f"{ours}; head: the same"
    return f"{'base: ' if isinstance(base, NoBreakpoint) else ''}{ours}; head: {theirs}"


def _alike(base: Breakpoint, head: Breakpoint) -> bool:
    """Whether every break of one side could lie where the other side has one."""
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
    return f"{words}; {parameter} {_plain(where)} alone lies {100 * abs(distance):.0f} % {side}: one point is no breakpoint"


def _where(point: Breakpoint, parameter: str, measured: Sequence[float]) -> str:
    low, high = _plain(point.low), _plain(point.high)
    if point.kind == "jump":
        way = "jumps" if point.step > 0 else "drops"
        return f"{way} between {parameter} {low} and {high} ({_percent(point.step)})"
    if any(point.low < each < point.high for each in measured):
        return f"{_way(point)} somewhere between {parameter} {low} and {high} ({_percent(point.step)} at {high})"
    return f"{_way(point)} from {parameter} {low} on ({_percent(point.step)} at {high})"


def _way(point: Breakpoint) -> str:
    """How the curve goes on, beside how it came."""
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
