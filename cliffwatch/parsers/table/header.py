"""Whether a file holds the table, from its beginning: asked of every file, so that no reader is loaded for
it.
"""

import csv

from cliffwatch.parsers.table.columns import NEEDED

LONGEST_HEADER = 1 << 16
"""Characters."""

_BOM = "\ufeff"
_MAGIC = b"PAR1"


def looks_like_table(text: str) -> bool:
    first = text[:LONGEST_HEADER].partition("\n")[0].lower()
    if not all(name in first for name in NEEDED):
        return False
    return set(header_cells(first)) >= NEEDED


def header_cells(line: str) -> list[str]:
    """The names of the columns, small; none where the line is no CSV."""
    try:
        cells = next(csv.reader([line.removeprefix(_BOM)]), [])
    except csv.Error:
        return []
    return [cell.strip().lower() for cell in cells]


def is_parquet(content: bytes) -> bool:
    """By its first bytes."""
    return content.startswith(_MAGIC)
