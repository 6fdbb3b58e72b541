"""A matrix of several arms: cases down, arms across, each arm compared with the first arm."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from cliffwatch.comparing.comparison import CHANGES, ComparisonSet
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.styles import plain
from cliffwatch.samples import CaseKey


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """A metric of a case on all arms."""

    case: CaseKey
    metric: str
    unit: str
    base: float | None
    """Value of the first arm; None if it has none."""
    cells: tuple[ComparisonRow | None, ...]
    """One comparison per further arm; None if the arm has no such row."""


def matrix(compared: Sequence[ComparisonSet], *, all_metrics: bool = False) -> tuple[MatrixRow, ...]:
    """Merges the rows of all arms in order of first occurrence. Takes the rows of tables, or all metrics."""
    columns = [
        {(row.case, row.metric, row.unit): row for row in (each.rows if all_metrics else each.table_rows())}
        for each in compared
    ]
    keys = dict.fromkeys(key for column in columns for key in column)
    return tuple(_row(key, [column.get(key) for column in columns]) for key in keys)


def _row(key: tuple[CaseKey, str, str], cells: Sequence[ComparisonRow | None]) -> MatrixRow:
    case, metric, unit = key
    base = next((cell.base for cell in cells if cell is not None and cell.base is not None), None)
    return MatrixRow(case=case, metric=metric, unit=unit, base=base, cells=tuple(cells))


def cell(row: ComparisonRow | None) -> str:
    """Formats a change with its verdict's sign: `▲ +4.79 %`; `~` within noise; else the verdict."""
    if row is None:
        return "-"
    if row.change is None and row.verdict not in CHANGES:
        return f"{figures.SIGNS[row.verdict]} {row.verdict}".strip()
    return f"{figures.SIGNS[row.verdict]} {figures.change(row)}".strip()


def arm_names(compared: Sequence[ComparisonSet]) -> tuple[str, ...]:
    """Returns the names of base and of the other arms."""
    return (compared[0].base.name, *(each.head.name for each in compared))


def matrix_lines(compared: Sequence[ComparisonSet], *, all_metrics: bool) -> Iterator[str]:
    """Yields one table per suite: cases below their benchmark, base's value, and the other arms' changes."""
    base, *heads = (plain(name) for name in arm_names(compared))
    for suite, rows in groupby(matrix(compared, all_metrics=all_metrics), key=lambda row: row.case.suite):
        lines: list[tuple[str, ...]] = [(plain(suite), base, "unit", *heads)]
        for benchmark, group in groupby(rows, key=lambda row: row.case.benchmark):
            lines.append((f"  {plain(benchmark)}",))
            lines += [_cells(row, all_metrics=all_metrics) for row in group]
        yield ""
        yield from _aligned(lines)


def _cells(row: MatrixRow, *, all_metrics: bool) -> tuple[str, ...]:
    params = figures.parameters(row.case, "" if all_metrics else row.metric)
    return (
        plain(f"    {params}  {row.metric}" if all_metrics else f"    {params}"),
        figures.value(row.base),
        plain(row.unit),
        *map(cell, row.cells),
    )


def _aligned(lines: Sequence[tuple[str, ...]]) -> Iterator[str]:
    full = [line for line in lines if len(line) > 1]
    widths = [max(len(line[column]) for line in full) for column in range(len(full[0]))]
    for line in lines:
        if len(line) == 1:
            yield line[0]
            continue
        name, value, unit, *cells = line
        shown = [cell.rjust(width) for cell, width in zip(cells, widths[3:], strict=True)]
        yield "  ".join(
            (name.ljust(widths[0]), value.rjust(widths[1]), unit.ljust(widths[2]), *shown)
        ).rstrip()
