"""Tables of the compare page as HTML, packed: of a page that is kept the rows are text, which is sent in a tenth of the time that drawing takes."""

from collections.abc import Sequence
from dataclasses import dataclass

import zstandard
from markupsafe import Markup

from cliffwatch_service.web.compare.columns import Column
from cliffwatch_service.web.compare.lines import TableRow
from cliffwatch_service.web.layout.render import drawn

PART = 50
"""Rows that are drawn, or left undrawn, together."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What the tables of a page have in common: the pair and the query of its rows' addresses, and the columns."""

    pair: str
    query: str
    columns: Sequence[Column]

    def packed(self, rows: Sequence[TableRow], title: str) -> tuple[bytes, ...]:
        """The rows in parts that a browser draws only when they are seen."""
        packer = zstandard.ZstdCompressor(level=1)
        parts = [rows[start : start + PART] for start in range(0, len(rows), PART)]
        given = (self.columns, self.pair, title, self.query)
        return tuple(packer.compress(drawn("compare/rows.html", "table", part, *given).encode()) for part in parts)


def table_html(packed: bytes) -> Markup:
    return Markup(zstandard.ZstdDecompressor().decompress(packed).decode())  # noqa: S704 - drawn by our own template
