"""Fits curves to the cases of a benchmark.

There is one curve over each numeric parameter, for each combination of the others.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from cliffwatch.comparing.comparison import CHANGES
from cliffwatch.comparing.sweeps.words import same_course, words_of
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.stats.curves.breakpoints import FEWEST, Breakpoint, NoBreakpoint, find_breakpoint
from cliffwatch.stats.rank_tables import Values

MOST, MOST_IN_ALL = 32, 128
"""Curves that are judged of a benchmark and metric that has several, and of all such benchmarks: each takes
thousands of fits.
"""

_OF_A_MEDIAN = np.sqrt(np.pi / 2)
"""Standard error of a Gaussian sample's median over that of its mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """Rows by the value of one parameter."""

    parameter: str
    fixed: Mapping[str, str | None]
    """Values of the other parameters that differ among the benchmark's cases.

    None if this curve's cases lack the parameter.
    """
    points: Mapping[float, ComparisonRow]

    @property
    def changed(self) -> bool:
        return any(row.verdict in CHANGES for row in self.points.values())


def sweeps_of(rows: Sequence[ComparisonRow]) -> Iterator[Sweep]:
    """Yields the sweeps of benchmarks over their parameters.

    There is one for each benchmark, primary metric, numeric parameter and combination of the other
    parameters, if it has `FEWEST` points. Curves beyond `MOST` and `MOST_IN_ALL` are named but not judged.
    """
    groups: dict[tuple[str, str, str], list[ComparisonRow]] = {}
    for row in rows:
        if row.primary and (row.base or 0.0) > 0 and (row.head or 0.0) > 0:
            groups.setdefault((row.case.suite, row.case.benchmark, row.metric), []).append(row)
    curves = {key: list(_curves(group)) for key, group in groups.items()}
    judged = _to_judge(curves.values())
    for (suite, benchmark, metric), of_benchmark in curves.items():
        for curve in of_benchmark:
            named = Sweep(
                suite=suite,
                benchmark=benchmark,
                parameter=curve.parameter,
                metric=metric,
                words=f"not judged: of several curves a benchmark {MOST} are, and {MOST_IN_ALL} in all",
                fixed=dict(curve.fixed),
            )
            yield _judge_curve(named, curve) if id(curve) in judged else named


def _to_judge(curves: Collection[Sequence[_Curve]]) -> set[int]:
    """Ids of the curves to judge: every only curve of a benchmark; of the others, changed ones first."""
    several = [sorted(each, key=lambda curve: not curve.changed)[:MOST] for each in curves if len(each) > 1]
    chosen = sorted(chain.from_iterable(several), key=lambda curve: not curve.changed)[:MOST_IN_ALL]
    return {id(curve) for curve in chain(chosen, *(each for each in curves if len(each) == 1))}


def _curves(group: Sequence[ComparisonRow]) -> Iterator[_Curve]:
    """The curves of one benchmark and metric, those over the parameter with most values first."""
    params = [dict(row.case.params) for row in group]
    varied: dict[str, set[str | None]] = {name: set() for each in params for name in each}
    for name, values in varied.items():
        values.update(each.get(name) for each in params)
    varied = {name: values for name, values in varied.items() if len(values) > 1}
    for parameter in sorted(
        filter(lambda name: _numeric(varied[name]), varied), key=lambda name: -len(varied[name])
    ):
        others = [name for name in varied if name != parameter]
        combined: dict[tuple[str | None, ...], list[tuple[float, ComparisonRow]]] = {}
        for each, row in zip(params, group, strict=True):
            if parameter in each:
                values_of_others = tuple(each.get(name) for name in others)
                combined.setdefault(values_of_others, []).append((_number(each[parameter]), row))
        for values_of_others, found in combined.items():
            points = dict(found)
            if FEWEST <= len(points) == len(found):
                yield _Curve(
                    parameter=parameter, fixed=dict(zip(others, values_of_others, strict=True)), points=points
                )


def _numeric(values: Iterable[str | None]) -> bool:
    """True if a parameter has enough values for a curve and all are positive numbers. Cases may lack it."""
    given = [_number(value) for value in values if value is not None]
    return len(set(given)) >= FEWEST and min(given) > 0


def _number(text: str) -> float:
    """The value of a positive number; 0 for anything else."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if np.isfinite(value) else 0.0


def _judge_curve(named: Sweep, curve: _Curve) -> Sweep:
    base, head = (_breakpoint(curve.points, side) for side in ("base", "head"))
    return replace(
        named,
        words=words_of(base, head, curve.parameter, sorted(curve.points)),
        base_breakpoint=_bounds(base),
        head_breakpoint=_bounds(head),
        differs=curve.changed and not same_course(base, head),
    )


def _breakpoint(points: Mapping[float, ComparisonRow], side: str) -> Breakpoint | NoBreakpoint:
    values = [row.base if side == "base" else row.head for row in points.values()]
    return find_breakpoint(
        np.array(list(points)), np.array(values, dtype=float), _errors(points.values(), side)
    )


def _errors(rows: Iterable[ComparisonRow], side: str) -> Values | None:
    """Standard errors of one side's medians, as fractions; None if no row has a spread between boots."""
    found = [
        (row.base_spread, row.n_base) if side == "base" else (row.head_spread, row.n_head) for row in rows
    ]
    if all(spread is None for spread, _ in found):
        return None
    return np.array([_OF_A_MEDIAN * (spread or 0.0) / np.sqrt(max(1, boots)) for spread, boots in found])


def _bounds(point: Breakpoint | NoBreakpoint) -> tuple[float, float] | None:
    return (point.low, point.high) if isinstance(point, Breakpoint) else None
