"""Cases of one benchmark that differ in one number: a curve, and where it bends, in words."""

from collections.abc import Iterator, Sequence

import numpy as np

from cliffwatch.comparing.comparison import Comparison, Sweep
from cliffwatch.stats.breakpoints import FEWEST, Breakpoint, NoBreakpoint, find_breakpoint


def sweeps_of(rows: Sequence[Comparison]) -> Iterator[Sweep]:
    """One a benchmark and primary metric whose cases vary one numeric parameter over enough values."""
    groups: dict[tuple[str, str, str], list[Comparison]] = {}
    for row in rows:
        if row.primary and row.base and row.head:
            groups.setdefault((row.case.suite, row.case.benchmark, row.metric), []).append(row)
    for (suite, benchmark, metric), group in groups.items():
        parameter = _varied(group)
        if parameter is not None:
            points = {_number(dict(row.case.params)[parameter]): row for row in group}
            ours, theirs = (_bend(points, side) for side in ("base", "head"))
            words = _words(ours, theirs, parameter, min(points), max(points))
            yield Sweep(
                suite=suite,
                benchmark=benchmark,
                parameter=parameter,
                metric=metric,
                words=words,
                base_bend=_bounds(ours),
                head_bend=_bounds(theirs),
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


def _bend(points: dict[float, Comparison], side: str) -> Breakpoint | NoBreakpoint:
    values = [row.base if side == "base" else row.head for row in points.values()]
    return find_breakpoint(np.array(list(points), dtype=float), np.array(values, dtype=float))


def _bounds(found: Breakpoint | NoBreakpoint) -> tuple[float, float] | None:
    return (found.low, found.high) if isinstance(found, Breakpoint) else None


def _words(
    base: Breakpoint | NoBreakpoint, head: Breakpoint | NoBreakpoint, parameter: str, first: float, last: float
) -> str:
    if isinstance(base, NoBreakpoint) and isinstance(head, NoBreakpoint):
        return f"no bend from {parameter} {_plain(first)} to {_plain(last)}"
    if isinstance(base, NoBreakpoint):
        return f"base: no bend; head: {_place(head, parameter)}"
    if isinstance(head, NoBreakpoint):
        return f"{_place(base, parameter)}; head: no bend"
    if base.high <= head.low or head.high <= base.low:
        return f"{_place(base, parameter)}; head: {_place(head, parameter)}"
    return f"{_place(base, parameter)}; head: the same"


def _place(found: Breakpoint | NoBreakpoint, parameter: str) -> str:
    assert isinstance(found, Breakpoint)
    percent = 100 * found.step
    way = "climbs" if found.step > 0 else "falls"
    return f"{way} from {parameter} {_plain(found.low)} on ({percent:+.0f} % at {_plain(found.high)})"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)
