"""Reads and writes the table as CSV.

Text that a spreadsheet would run as a formula is written with a quote before it. Reading removes the quote.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from cliffwatch.parsers.readings import Problem, problem_at
from cliffwatch.parsers.table.columns import NAMES, NEEDED, TableRow
from cliffwatch.parsers.table.header import LONGEST_HEADER, header_cells
from cliffwatch.parsers.table.reading import Table, TableReader

MOST_COLUMNS = 256
_RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r")
_GUARDED = ("'", *_RUN_BY_SPREADSHEETS)
_READINGS = NAMES.index("readings")


def csv_lines(pieces: Iterable[Iterable[TableRow]]) -> Iterator[bytes]:
    """Yields the header, then the rows piece by piece."""
    yield _write_rows([NAMES])
    for rows in pieces:
        yield _write_rows([_cells(row) for row in rows])


def csv_table(rows: Iterable[Iterable[object]]) -> bytes:
    """Formats the rows of any other table, with the same protection against formulas."""
    return _write_rows([[guard_formula(each) for each in row] for row in rows])


def _write_rows(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode(errors="replace")


def _cells(row: TableRow) -> list[object]:
    # Inlines `harmless`, which would otherwise be called twenty times per row.
    cells: list[object] = [
        f"'{each}" if isinstance(each, str) and each[:1] in _GUARDED else each for each in row
    ]
    if row.readings is not None:
        cells[_READINGS] = f"[{','.join(map(repr, row.readings))}]"
    return cells


def guard_formula(content: object) -> object:
    """Puts a quote before text that a spreadsheet would run as a formula.

    Text that already begins with a quote gets another one, so the change can be undone.
    """
    return f"'{content}" if isinstance(content, str) and content.startswith(_GUARDED) else content


def remove_guard(text: str) -> str:
    """Reverses `harmless`. Keeps a quote that protects nothing."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_GUARDED) else text


def _find_header_problem(line: str, header: list[str]) -> Problem | None:
    """Finds what makes a table with this header, of this line, unreadable."""
    lacking = NEEDED - set(header)
    twice = [name for name in NAMES if header.count(name) > 1]
    if len(header) > MOST_COLUMNS:
        return problem_at(1, line, f"more than {MOST_COLUMNS} columns")
    if lacking:
        return problem_at(1, line, f"no column {min(lacking)!r}")
    return problem_at(1, line, f"column {twice[0]!r} appears twice") if twice else None


def read_csv_table(text: str) -> Table:
    """Reads every readable row. Never raises."""
    reader = TableReader()
    first = text[:LONGEST_HEADER].partition("\n")[0]
    header = header_cells(first)
    problem = _find_header_problem(first, header)
    if problem is not None:
        reader.skip(problem)
        return reader.table()
    for line, cells in _lines(text[len(first) + 1 :], reader):
        if len(cells) != len(header):
            reason = f"{len(cells)} columns, but the header has {len(header)}"
            reader.skip(problem_at(line, ",".join(cells), reason))
        else:
            named = dict(zip(header, map(remove_guard, cells), strict=True))
            reader.add(named, line)
    return reader.table()


def _lines(text: str, reader: TableReader) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows that are not blank, each with the number of its last line in the file."""
    rows: Any = csv.reader(io.StringIO(text, newline=""))
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            reader.skip(problem_at(rows.line_num + 1, "", f"not a line of CSV: {error}"))
            continue
        if cells:
            yield rows.line_num + 1, cells
