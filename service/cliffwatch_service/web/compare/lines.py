"""Rows of the compare page: name, URL and a cell for every target."""

from collections.abc import Sequence
from typing import NamedTuple

from cliffwatch.comparing.comparison import CHANGES
from cliffwatch.comparing.ordering import CHANGED, is_beyond_noise
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.several.across import Across, across, describe_targets
from cliffwatch.reports.several.row_addresses import case_path
from cliffwatch_service.refusal import not_found
from cliffwatch_service.web.compare.columns import Column, Rows
from cliffwatch_service.web.layout.drawing import Scale, bar
from cliffwatch_service.web.layout.wording import MARKS, interval_words, tone


class Cell(NamedTuple):
    """A row on one target."""

    target: str
    ground: str
    """Names the background drawing of its threshold: index of the column, index of the threshold."""
    kind: str
    """CSS class."""
    text: str
    small: str
    """Details below the text."""
    path: str
    """SVG path of the bar."""


class TableRow(NamedTuple):
    """A row of the compare page's table."""

    name: str
    params: str
    measure: str
    href: str
    where: str
    cells: tuple[Cell, ...]


def row_at(rows: Sequence[Rows], raw: str, path: str, metric: str) -> Across:
    """Finds a row by its URL path. Raises Refusal if there is none.

    `raw` is the path as sent and `path` the decoded one; a proxy may have decoded both. Without a metric,
    prefers a primary one.
    """
    found = [
        row
        for row in across(rows, all_metrics=True)
        if (not metric or metric in dict(row.measures))
        and (case_path(row.suite, row.benchmark, row.params) in (raw, path) or _path(row) == path)
    ]
    if not found:
        raise not_found("case in this comparison", path)
    return next(
        (row for row in found if any(cell is not None and cell.primary for cell in row.cells)), found[0]
    )


def _path(row: Across) -> str:
    return "/".join([row.suite, row.benchmark, *(f"{name}={value}" for name, value in row.params.items())])


def table_row(row: Across, columns: Sequence[Column], scale: Scale) -> TableRow:
    return TableRow(
        name=row.benchmark,
        params=" ".join(f"{name}={value}" for name, value in row.params.items()),
        measure=_measure(row),
        href=row.path,
        where=describe_targets(row, [column.target for column in columns]) if row.verdict in CHANGED else "",
        cells=tuple(
            [
                _cell(cell, index, column, scale)
                for index, (column, cell) in enumerate(zip(columns, row.cells, strict=True))
            ]
        ),
    )


def _measure(row: Across) -> str:
    """Returns `hits-latency in ns/op, lower is better`. Measures of other targets follow: `; insns/op`."""
    better = next((cell.better for cell in row.cells if cell and cell.metric == row.metric), None)
    others = "".join(f"; {figures.measure(metric, unit)}" for metric, unit in row.measures[1:])
    return f"{figures.measure(row.metric, row.unit, better)}{others}"


def _cell(row: ComparisonRow | None, index: int, column: Column, scale: Scale) -> Cell:
    if row is None:
        return Cell(column.target.name, "", "none", "not run", "", "")
    bounds = f" ({interval_words(row.interval_level)})" if column.mixed else ""
    ground = f"{index}-{column.thresholds.index(row.threshold)}"
    return Cell(column.target.name, ground, *cell_text(row, bounds), bar(row, scale))


def cell_text(row: ComparisonRow, bounds: str = "") -> tuple[str, str, str]:
    """Returns kind, text and small text. Reported changes have the colour that other formats give them.

    `bounds` names the kind of interval; empty if all rows of the column have the same kind.
    """
    interval = _interval(row, bounds)
    verdict, change = row.verdict, row.change
    n = figures.counts(row)
    if verdict in CHANGES:
        shown = figures.step(row) if change is None else figures.percent(change)
        text = f"{MARKS[verdict]} {shown} {figures.verdict_in_words(verdict, [row.unit])}"
        return tone(verdict), text, f"{_values(row)}; {interval}; n {n}"
    if verdict == "unchanged":
        seen = f"could see {_plain(row.mde)}; n {n}"
        if is_beyond_noise(row):
            return "same", figures.percent(change), f"{_values(row)}; {interval}; {seen}"
        return "same", figures.NOT_SIGNIFICANT, f"{_values(row)}; {seen}"
    if verdict == "inconclusive":
        needs = f"needs {count_noun(row.needs, 'boot')}" if row.needs else "inconclusive"
        why = f": {row.reason[:90]}" if row.reason else ""
        return "inconclusive", f"? {needs}", f"{_values(row)}; {interval}; n {n}{why}"
    measured = f"{_values(row)}; " if row.base is not None or row.head is not None else ""
    return "trouble", f"{MARKS[verdict]} {verdict}", f"{measured}{row.reason[:120]}"


def _values(row: ComparisonRow) -> str:
    """Formats the values of base and head without the unit, which stands beside the row's name."""
    return f"{figures.value(row.base)} → {figures.value(row.head)}"


def _interval(row: ComparisonRow, bounds: str) -> str:
    low, high = row.ci_low, row.ci_high
    if low is None or high is None:
        return "no interval"
    return f"{100 * low:+.2f} .. {100 * high:+.2f} %{bounds}"


def _plain(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.2f} %"
