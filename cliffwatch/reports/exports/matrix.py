"""Writes a metric of an arm as Markdown tables of two parameters, such as threads down and maps across."""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from cliffwatch.comparing.ordering import natural_key
from cliffwatch.counting import count_noun
from cliffwatch.reports.figures import value
from cliffwatch.samples import Arm, CaseKey

IsPrimary = Callable[[CaseKey, str, str], bool]
"""Tells whether a metric (with its unit) is primary in a case."""

_Cells = dict[tuple[str, str], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The layout of the tables."""

    down: str
    """Parameter of the rows."""
    across: str
    """Parameter of the columns."""
    metric: str | None
    """Metric of the cells; None for the primary metrics."""


@dataclass(frozen=True, slots=True)
class _Table:
    """The properties that all cells of a table share. `case` lacks the two parameters of the layout."""

    case: CaseKey
    metric: str
    unit: str


def format_matrix(arm: Arm, layout: Layout, is_primary: IsPrimary) -> str:
    """Writes one table per benchmark, metric and combination of the other parameters.

    Cells are medians over boots.

    A cell without a value is `-`. Returns an empty text if no case has both parameters.
    """
    tables = _tables(arm, layout, is_primary)
    return "\n".join("\n".join(_lines(arm, layout, table, cells)) for table, cells in tables.items())


def _tables(arm: Arm, layout: Layout, is_primary: IsPrimary) -> Mapping[_Table, _Cells]:
    tables: dict[_Table, _Cells] = {}
    for boot in arm.boots:
        for sample in boot.samples:
            params = dict(sample.case.params)
            wanted = (
                sample.metric == layout.metric
                if layout.metric is not None
                else is_primary(sample.case, sample.metric, sample.unit)
            )
            if not wanted or not {layout.down, layout.across} <= params.keys():
                continue
            place = params.pop(layout.down), params.pop(layout.across)
            table = _Table(sample.case._replace(params=tuple(params.items())), sample.metric, sample.unit)
            tables.setdefault(table, {}).setdefault(place, []).append(sample.value)
    return tables


def _lines(arm: Arm, layout: Layout, table: _Table, cells: _Cells) -> Iterator[str]:
    rows = sorted({row for row, _ in cells}, key=natural_key)
    columns = list(dict.fromkeys(column for _, column in cells))
    case = " ".join([table.case.benchmark, *(f"{name}={text}" for name, text in table.case.params)])
    named = table.unit if table.metric == table.unit else f"{table.metric}, {table.unit}"
    counts = sorted({len(values) for values in cells.values()})
    boots = (
        count_noun(counts[0], "boot")
        if len(counts) == 1
        else f"{counts[0]} to {count_noun(counts[-1], 'boot')}"
    )
    yield f"### {_plain(case)}"
    yield ""
    yield f"{_plain(named)}; medians of {boots} of {_plain(arm.name)}"
    yield ""
    yield _line([layout.down, *columns])
    yield _line(["--:"] * (len(columns) + 1))
    for row in rows:
        found = [cells.get((row, column)) for column in columns]
        yield _line([row, *(value(statistics.median(each) if each else None) for each in found)])
    yield ""


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    """Escapes Markdown and drops unprintable characters."""
    return "".join(
        f"\\{letter}" if letter in "\\|`*_<>[]" else letter for letter in text if letter.isprintable()
    )
