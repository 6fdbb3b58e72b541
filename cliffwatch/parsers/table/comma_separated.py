"""The table as CSV. Text that a spreadsheet would run as a formula has a quote before it, which reading takes
off again.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from cliffwatch.parsers.table.columns import NAMES, NEEDED, TableRow
from cliffwatch.parsers.table.header import LONGEST_HEADER, header_cells
from cliffwatch.parsers.table.reading import Table, TableReader

MOST_COLUMNS = 256
_RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r")
_GUARDED = ("'", *_RUN_BY_SPREADSHEETS)
_READINGS = NAMES.index("readings")


def csv_lines(pieces: Iterable[Iterable[TableRow]]) -> Iterator[bytes]:
    """The header, then the rows piece by piece."""
    yield _write_rows([NAMES])
    for rows in pieces:
        yield _write_rows([_cells(row) for row in rows])


def csv_table(rows: Iterable[Iterable[object]]) -> bytes:
    """Rows of another table, with the same guard."""
    return _write_rows([[harmless(each) for each in row] for row in rows])


def _write_rows(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode(errors="replace")


def _cells(row: TableRow) -> list[object]:
    # As `harmless`, which would be called twenty times a row.
    cells: list[object] = [
        f"'{each}" if isinstance(each, str) and each[:1] in _GUARDED else each for each in row
    ]
    if row.readings is not None:
        cells[_READINGS] = f"[{','.join(map(repr, row.readings))}]"
    return cells


def harmless(content: object) -> object:
    """A text that a spreadsheet would take for a formula with a quote before it; so that nothing is lost, one
    that begins with a quote gets one more.
    """
    return f"'{content}" if isinstance(content, str) and content.startswith(_GUARDED) else content


def remove_guard(text: str) -> str:
    """The inverse of `harmless`; a quote that guards nothing stays."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_GUARDED) else text


def _unfit(header: list[str]) -> str | None:
    """Why a table with this header cannot be read; None where it can."""
    if len(header) > MOST_COLUMNS:
        return f"more than {MOST_COLUMNS} columns"
    lacking = NEEDED - set(header)
    twice = [name for name in NAMES if header.count(name) > 1]
    return (
        f"no column {min(lacking)!r}" if lacking else f"column {twice[0]!r} is there twice" if twice else None
    )


def read_csv_table(text: str) -> Table:
    """Every row that can be read. Total."""
    reader = TableReader()
    first = text[:LONGEST_HEADER].partition("\n")[0]
    header = header_cells(first)
    reason = _unfit(header)
    if reason is not None:
        reader.problem(1, first, reason)
        return reader.table()
    for line, cells in _lines(text[len(first) + 1 :], reader):
        if len(cells) != len(header):
            reader.problem(
                line, ",".join(cells)[:400], f"{len(cells)} columns where the header has {len(header)}"
            )
        else:
            named = dict(zip(header, map(remove_guard, cells), strict=True))
            reader.add(named, line)
    return reader.table()


def _lines(text: str, reader: TableReader) -> Iterator[tuple[int, list[str]]]:
    """Rows that have cells, with the line at which each ends."""
    rows: Any = csv.reader(io.StringIO(text, newline=""))
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            reader.problem(rows.line_num + 1, "", f"no line of CSV: {error}")
            continue
        if cells:
            yield rows.line_num + 1, cells
