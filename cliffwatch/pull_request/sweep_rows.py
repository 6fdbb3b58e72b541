"""Merges cases of a sweep that changed alike into one line of a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from cliffwatch.comparing.ordering import CHANGED
from cliffwatch.reports.several.across import Across

FEWEST = 3
"""Minimum number of neighbouring cases that are merged into a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a table: a row, or neighbouring rows of a sweep."""

    label: str
    """Distinguishes the line within its benchmark. Empty for a case without parameters."""
    rows: tuple[Across, ...]


def lines_of(chosen: Sequence[Across], everything: Sequence[Across]) -> list[Line]:
    """Returns the lines for the chosen rows of one benchmark and metric, largest change first.

    `everything` has all rows of the benchmark and metric: an unchanged row between two chosen rows keeps them
    apart. If several parameters are swept, merges along the parameter that gives the fewest lines.
    """
    wanted = {id(row) for row in chosen}
    ways = [_lines_over(parameter, everything, wanted) for parameter in _swept_parameters(everything)]
    lines = min(ways, key=len, default=[_single_line(row) for row in chosen])
    return sorted(lines, key=lambda line: -max(row.size for row in line.rows))


def label(params: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in params.items())


def _single_line(row: Across) -> Line:
    return Line(label=label(row.params), rows=(row,))


def _swept_parameters(rows: Sequence[Across]) -> list[str]:
    """Returns the numeric parameters with enough values, most values first.

    Some cases may lack a parameter.
    """
    values: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.params.items():
            values.setdefault(name, set()).add(value)
    numeric = [
        name for name, each in sorted(values.items()) if len(each) >= FEWEST and all(map(_is_number, each))
    ]
    return sorted(numeric, key=lambda name: -len(values[name]))


def _lines_over(parameter: str, everything: Sequence[Across], wanted: set[int]) -> list[Line]:
    lines = [_single_line(row) for row in everything if id(row) in wanted and parameter not in row.params]
    for others, rows in _by_others(everything, parameter):
        for neighbours in _runs(rows, wanted):
            lines += _lines(neighbours, parameter, others)
    return lines


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _by_others(rows: Sequence[Across], parameter: str) -> Iterator[tuple[dict[str, str], list[Across]]]:
    groups: dict[tuple[tuple[str, str], ...], list[Across]] = {}
    for row in rows:
        if parameter not in row.params:
            continue
        others = tuple((name, value) for name, value in row.params.items() if name != parameter)
        groups.setdefault(others, []).append(row)
    for others, group in groups.items():
        yield dict(others), sorted(group, key=lambda row: int(row.params[parameter]))


def _runs(rows: Sequence[Across], wanted: set[int]) -> Iterator[tuple[Across, ...]]:
    """Yields groups of neighbours with equal verdicts on every target."""
    for (is_wanted, _), group in groupby(rows, key=lambda row: (id(row) in wanted, _kind(row))):
        if is_wanted:
            yield tuple(group)


def _kind(row: Across) -> tuple[str | None, ...]:
    return (row.verdict, *(cell.verdict if cell is not None else None for cell in row.cells))


def _lines(rows: tuple[Across, ...], parameter: str, others: Mapping[str, str]) -> list[Line]:
    if len(rows) < FEWEST or rows[0].verdict not in CHANGED:
        return [_single_line(row) for row in rows]
    first, last = (row.params[parameter] for row in (rows[0], rows[-1]))
    return [Line(label=", ".join(filter(None, (f"{parameter} {first}-{last}", label(others)))), rows=rows)]
