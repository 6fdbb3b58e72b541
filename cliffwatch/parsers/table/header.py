"""Detects the table from the beginning of a file.

Every file is checked, so this must not load the table's readers.
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
    """Returns the column names in lower case. Empty if the line is not CSV."""
    try:
        cells = next(csv.reader([line.removeprefix(_BOM)]), [])
    except csv.Error:
        return []
    return [cell.strip().lower() for cell in cells]


def is_parquet(content: bytes) -> bool:
    """True if the content begins with Parquet's magic bytes."""
    return content.startswith(_MAGIC)
