"""Markdown tables by unit for Go developers: both sides and the change, in benchstat's units and digits."""

from collections.abc import Sequence
from itertools import groupby

from cliffwatch.comparing.comparison import CHANGES, ComparisonSet
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.markdown import code, word
from cliffwatch.reports.several.benchstat import convert_unit, format_scaled
from cliffwatch.reports.several.matrix import cell

_WIDEST_LABEL = 30
UNIT_LEGEND = (
    "▲ worse, ▼ better, ~ within the noise. Values have the prefixes of benchstat, ± is their spread between"
    " boots."
)


def unit_tables(compared: ComparisonSet, *, most: int) -> list[str]:
    """Returns tables of the primary metrics in Markdown that is also readable as plain text.

    Each suite, metric and unit has a table of at most `most` cases with their geometric mean. If there are
    more cases, the changed cases are kept.
    """
    lines: list[str] = []
    for _, of_suite in groupby(compared.primary_rows(), key=lambda row: row.suite):
        rows = list(of_suite)
        for metric, unit in dict.fromkeys((row.metric, row.unit) for row in rows):
            chosen = [row for row in rows if (row.metric, row.unit) == (metric, unit)]
            lines += [*_table(compared, metric, unit, chosen, most), ""]
    return lines


def _table(
    compared: ComparisonSet, metric: str, unit: str, rows: Sequence[ComparisonRow], most: int
) -> list[str]:
    shown = convert_unit(unit)[0]
    title = word(shown) if metric in (unit, "") else f"{word(metric)} {word(shown)}"
    chosen = rows if len(rows) <= most else sorted(rows, key=lambda row: row.verdict not in CHANGES)[:most]
    cells = [(title, "base", "head", "vs base"), *map(_cells, chosen)]
    mean = next((each.change for each in compared.means if (each.metric, each.unit) == (metric, unit)), None)
    if mean is not None:
        cells.append(("geomean", "", "", figures.percent(mean)))
    widths = [max(len(each[column]) for each in cells) for column in range(4)]
    widths[0] = max(len(each[0]) for each in cells if len(each[0]) <= _WIDEST_LABEL)
    head, *body = (_line(each, widths) for each in cells)
    rule = " | ".join(("-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:3]), "-" * widths[3]))
    left = len(rows) - len(chosen)
    return [head, rule, *body, *(["", f"{count_noun(left, 'more case')} of {title}."] if left else [])]


def _cells(row: ComparisonRow) -> tuple[str, str, str, str]:
    name = "/".join((row.benchmark, *(f"{param}={value}" for param, value in row.case.params)))
    values = ((row.base, row.base_spread), (row.head, row.head_spread))
    base, head = ("-" if value is None else _value(value, spread, row.unit) for value, spread in values)
    return code(name), base, head, cell(row)


def _value(number: float, spread: float | None, unit: str) -> str:
    return format_scaled(number, unit) + ("" if spread is None else f" ± {100 * spread:.0f}%")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, base, head, change = cells
    return f"{name:<{widths[0]}} | {base:>{widths[1]}} | {head:>{widths[2]}} | {change}".rstrip()
