"""Benchmarks over one parameter on the compare page: a curve a target, and the rows that are folded under it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cliffwatch.comparing.ordering import CHANGED, FOLDED
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.reports.several.across import Across, Target
from cliffwatch.stats.curves.breakpoints import FEWEST
from cliffwatch_service.web.compare.columns import Column
from cliffwatch_service.web.compare.curves import Curve, SweepPoint, curve
from cliffwatch_service.web.compare.lines import TableRow, row_path, table_row
from cliffwatch_service.web.layout.drawing import Scale


@dataclass(frozen=True, slots=True)
class SweepShown:
    """A benchmark over one parameter, with a curve a target; `lines` are its rows that are shown nowhere else."""

    benchmark: str
    parameter: str
    metric: str
    unit: str
    changes: str
    curves: tuple[tuple[Target, str, Curve], ...]
    lines: tuple[TableRow, ...]


def sweeps_of(
    every: Sequence[Across], shown: Sequence[Across], columns: Sequence[Column], scale: Scale
) -> tuple[tuple[SweepShown, ...], set[int]]:
    """The sweeps of all targets, whole whatever is filtered, and which of the shown rows (by id) are folded into them."""
    groups: dict[tuple[str, str, str], list[Across]] = {}
    for row in every:
        groups.setdefault((row.suite, row.benchmark, row.metric), []).append(row)
    visible = {id(row) for row in shown}
    drawn_sweeps, folded = [], set()
    for (suite, benchmark, metric, parameter), of_targets in _by_benchmark(columns).items():
        group = groups.get((suite, benchmark, metric), [])
        of_group = {id(row) for row in group}
        if not of_group & visible:
            continue
        drawn = tuple(
            (columns[index].target, sweep.words, curve_)
            for index, sweep in of_targets.items()
            if (curve_ := _curve(group, index, sweep)) is not None
        )
        if drawn:
            quiet = [row for row in shown if row.verdict in FOLDED and id(row) in of_group]
            folded |= {id(row) for row in quiet}
            lines = tuple(table_row(row, columns, scale) for row in quiet)
            drawn_sweeps.append(SweepShown(benchmark, parameter, metric, group[0].unit, _changes(group), drawn, lines))
    return tuple(drawn_sweeps), folded


def _by_benchmark(columns: Sequence[Column]) -> dict[tuple[str, str, str, str], dict[int, Sweep]]:
    """By suite, benchmark, metric and parameter: the sweep on each target that has it, by the target's index."""
    sweeps: dict[tuple[str, str, str, str], dict[int, Sweep]] = {}
    for index, column in enumerate(columns):
        for sweep in column.answer.summary.sweeps:
            key = (sweep.suite, sweep.benchmark, sweep.metric, sweep.parameter)
            sweeps.setdefault(key, {})[index] = sweep
    return sweeps


def _changes(group: Sequence[Across]) -> str:
    changed = sum(row.verdict in CHANGED for row in group)
    return f"{changed or 'none'} of {len(group)} changed"


def _curve(group: Sequence[Across], index: int, sweep: Sweep) -> Curve | None:
    points = [
        SweepPoint(value, cell.base, cell.head, cell, row_path(row))
        for row in group
        if (value := _number(row.params.get(sweep.parameter))) > 0
        and (cell := row.cells[index]) is not None
        and cell.base
        and cell.head
    ]
    if len({point.value for point in points}) < FEWEST:
        return None
    return curve(points, {"base": sweep.base_breakpoint, "head": sweep.head_breakpoint})


def _number(text: str | None) -> float:
    """A parameter's value; 0 for what is no number of a curve."""
    try:
        value = float(text or "")
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0
