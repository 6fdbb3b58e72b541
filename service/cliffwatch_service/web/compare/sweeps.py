"""Sweeps on the compare page: a curve per target, with the rows that are folded under it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.ordering import CHANGED, FOLDED
from cliffwatch.comparing.sweeps.choice import ChosenCurves, chosen_curves, fixed_words
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.reports.several.across import Across, Target
from cliffwatch.stats.curves.breakpoints import FEWEST
from cliffwatch_service.web.compare.columns import Column
from cliffwatch_service.web.compare.curves import Curve, SweepPoint, curve
from cliffwatch_service.web.compare.lines import table_row
from cliffwatch_service.web.compare.tables import Tables
from cliffwatch_service.web.layout.drawing import Scale

Fixed = tuple[str | None, ...]
"""The values of a curve's fixed parameters."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawn curve."""

    target: Target
    fixed: str
    """Values of the fixed parameters, in words; empty if the benchmark has no other parameter."""
    words: str
    curve: Curve


@dataclass(frozen=True, slots=True)
class OmittedCurves:
    """The curves of a target that are not drawn."""

    target: Target
    sentence: str
    """Number and kinds of the curves."""
    curves: tuple[tuple[str, str], ...]
    """Fixed parameters and result of each judged curve, in words."""


@dataclass(frozen=True, slots=True)
class SweepSection:
    """A benchmark over one parameter, with its curves on each target."""

    benchmark: str
    parameter: str
    metric: str
    unit: str
    changes: str
    """How many of its rows changed, in words."""
    figures: tuple[Figure, ...]
    undrawn: tuple[OmittedCurves, ...]
    folded: int
    """Number of rows folded under the curves. The page shows them nowhere else."""
    parts: tuple[bytes, ...]
    """Those rows as packed HTML."""


def sweeps_of(
    every: Sequence[Across], shown: Sequence[Across], tables: Tables, scale: Scale
) -> tuple[tuple[SweepSection, ...], set[int]]:
    """Returns the sweeps of all targets, and the ids of the shown rows that are folded under them.

    Filters do not thin out a sweep: it is shown whole if any of its rows passes them. If no shown row is more
    than unchanged or inconclusive, none is folded: the page begins with all of them.
    """
    columns = tables.columns
    groups: dict[tuple[str, str, str], list[Across]] = {}
    for row in every:
        groups.setdefault((row.suite, row.benchmark, row.metric), []).append(row)
    visible = {id(row) for row in shown}
    foldable = [row for row in shown if row.verdict in FOLDED]
    if len(foldable) == len(shown):
        foldable = []
    sweeps: list[SweepSection] = []
    folded: set[int] = set()
    for (suite, benchmark, metric, parameter), of_targets in _by_benchmark(columns, every).items():
        group = _points(groups.get((suite, benchmark, metric), []), parameter, of_targets)
        of_sweep = {id(row) for row in group}
        if not of_sweep & visible:
            continue
        chosen = list(
            dict.fromkeys(_fixed_parameters(sweep) for each in of_targets.values() for sweep in each.shown)
        )
        figures = tuple(_figures(group, chosen, of_targets, columns))
        undrawn = tuple(_list_omitted_curves(chosen, of_targets, columns))
        if figures or undrawn:
            left = of_sweep - folded
            quiet = [row for row in foldable if id(row) in left]
            folded |= {id(row) for row in quiet}
            parts = tables.packed([table_row(row, columns, scale) for row in quiet], benchmark)
            unit, changes = group[0].unit, _changes(group)
            shown_ = SweepSection(
                benchmark, parameter, metric, unit, changes, figures, undrawn, len(quiet), parts
            )
            sweeps.append(shown_)
    return tuple(sweeps), folded


def _by_benchmark(
    columns: Sequence[Column], every: Sequence[Across]
) -> dict[tuple[str, str, str, str], dict[int, ChosenCurves]]:
    """Groups curves by suite, benchmark, the rows' metric, and parameter; within a group by target index."""
    named = {(row.suite, row.benchmark, metric): row.metric for row in every for metric, _ in row.measures}
    found: dict[tuple[str, str, str, str], dict[int, ChosenCurves]] = {}
    for index, column in enumerate(columns):
        for chosen in chosen_curves(column.answer.summary.sweeps):
            first = chosen.all[0]
            metric = named.get((first.suite, first.benchmark, first.metric), first.metric)
            found.setdefault((first.suite, first.benchmark, metric, first.parameter), {})[index] = chosen
    return found


def _fixed_parameters(sweep: Sweep) -> Fixed:
    return tuple(sweep.fixed.values())


def _points(group: Sequence[Across], parameter: str, of_targets: Mapping[int, ChosenCurves]) -> list[Across]:
    """Returns the rows that are points of any of these curves."""
    found: set[int] = set()
    for chosen in of_targets.values():
        names = tuple(chosen.all[0].fixed)
        wanted = {_fixed_parameters(sweep) for sweep in chosen.all}
        found |= {id(row) for row in group if parameter in row.params and _values(row, names) in wanted}
    return [row for row in group if id(row) in found]


def _values(row: Across, names: Sequence[str]) -> Fixed:
    return tuple(row.params.get(name) for name in names)


def _figures(
    group: Sequence[Across],
    drawn: Sequence[Fixed],
    of_targets: Mapping[int, ChosenCurves],
    columns: Sequence[Column],
) -> Iterator[Figure]:
    """Draws each chosen curve on every target that has it, side by side."""
    by_target = {
        index: {_fixed_parameters(sweep): sweep for sweep in chosen.all}
        for index, chosen in of_targets.items()
    }
    for fixed in drawn:
        for index, sweeps in by_target.items():
            sweep = sweeps.get(fixed)
            curve_ = None if sweep is None else _curve(group, index, sweep)
            if sweep is not None and curve_ is not None:
                yield Figure(columns[index].target, fixed_words(sweep.fixed), sweep.words, curve_)


def _list_omitted_curves(
    drawn: Sequence[Fixed], of_targets: Mapping[int, ChosenCurves], columns: Sequence[Column]
) -> Iterator[OmittedCurves]:
    for index, chosen in of_targets.items():
        others = tuple(sweep for sweep in chosen.others if _fixed_parameters(sweep) not in drawn)
        if others:
            judged = tuple(
                (fixed_words(sweep.fixed), sweep.words) for sweep in others if sweep.differs is not None
            )
            sentence = ChosenCurves(shown=chosen.shown, others=others).sentence
            yield OmittedCurves(columns[index].target, sentence, judged)


def _changes(group: Sequence[Across]) -> str:
    changed = sum(row.verdict in CHANGED for row in group)
    return f"{changed or 'none'} of {len(group)} changed"


def _curve(group: Sequence[Across], index: int, sweep: Sweep) -> Curve | None:
    names = tuple(sweep.fixed)
    points = [
        SweepPoint(value, cell.base, cell.head, cell, row.path)
        for row in group
        if _values(row, names) == _fixed_parameters(sweep)
        and (value := _number(row.params.get(sweep.parameter))) > 0
        and (cell := row.cells[index]) is not None
        and cell.base
        and cell.head
    ]
    if len({point.value for point in points}) < FEWEST:
        return None
    return curve(points, {"base": sweep.base_breakpoint, "head": sweep.head_breakpoint})


def _number(text: str | None) -> float:
    """Returns the value of a parameter; 0 if it is missing or not a finite number."""
    try:
        value = float(text or "")
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0
