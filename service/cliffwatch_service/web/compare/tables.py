"""Tables of the compare page as compressed HTML.

A kept page holds its rows as HTML, because sending that takes a tenth of the time of writing it. No template
writes it: a page has 6,000 cells of six texts each, and a template checks the type of every text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import zstandard
from markupsafe import Markup, escape

from cliffwatch.trees.addresses import without_credentials
from cliffwatch_service.web.compare.columns import Column
from cliffwatch_service.web.compare.lines import Cell, TableRow
from cliffwatch_service.web.layout.render import query

PART = 50
"""Rows per table. A browser renders each table only when it is in view."""

_HARMLESS = re.compile(r"[^&<>\"'@]*").fullmatch
"""Matches text without markup and without a URL that may have credentials."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a page."""

    pair: str
    """Start of the rows' links."""
    query: str
    """End of the rows' links: the selected columns, from `&` on; may be empty."""
    columns: Sequence[Column]

    def packed(self, rows: Sequence[TableRow], title: str) -> tuple[bytes, ...]:
        """Writes the rows as tables of 50 and compresses each."""
        packer = zstandard.ZstdCompressor(level=1)
        parts = [rows[start : start + PART] for start in range(0, len(rows), PART)]
        return tuple(packer.compress("".join(self._table(part, title)).encode()) for part in parts)

    def _table(self, rows: Sequence[TableRow], title: str) -> Iterator[str]:
        names = "".join(f'<th scope="col">{_text(column.target.name)}</th>' for column in self.columns)
        yield f'<table class="rows n{len(self.columns)}">\n<caption class="hidden">{_text(title)}</caption>\n'
        yield f'<colgroup><col class="case">{"<col>" * len(self.columns)}</colgroup>'
        yield f'<thead class="hidden"><tr><th scope="col">case</th>{names}</tr></thead>\n<tbody>\n'
        pair, chosen = _text(self.pair), _text(self.query)
        for row in rows:
            params = f" <i>{_text(row.params)}</i>" if row.params else ""
            where = f" <em>{_text(row.where)}</em>" if row.where else ""
            yield (
                '<tr><th scope="row"><a'
                f' href="{pair}/cases/{_text(row.href)}{chosen}">{_text(row.name)}{params}</a>{where}'
            )
            yield f"<small>{_text(row.measure)}</small></th>\n"
            yield from (self._cell(row, cell) for cell in row.cells)
            yield "</tr>\n"
        yield "</tbody></table>\n"

    def _cell(self, row: TableRow, cell: Cell) -> str:
        text = f"<b>{_text(cell.text)}</b>" if cell.kind != "none" else self._link_to_measure(row, cell)
        picture = ""
        if cell.path:
            use = f'<use href="#f{cell.ground}"/><path d="{cell.path}"/>'
            picture = f'<svg viewBox="0 0 120 14" aria-hidden="true">{use}</svg>'
        small = f"<small>{_text(cell.small)}</small>"
        return f'<td class="{cell.kind}"><s>{_text(cell.target)}</s>{text}{picture}{small}</td>'

    def _link_to_measure(self, row: TableRow, cell: Cell) -> str:
        ends = self.pair.rsplit("/", maxsplit=1)[-1].split("...")
        wanted = {
            "base": ends[0],
            "head": ends[-1],
            "suite": row.href.split("/", maxsplit=1)[0],
            "target": cell.target,
        }
        return f'<a href="/measure{_text(query(wanted))}">{_text(cell.text)}</a>'


def _text(value: str) -> str:
    """Escapes a text for an element or a quoted attribute.

    Removes credentials from URLs, because old rows have some: they were not always refused.
    """
    return value if _HARMLESS(value) else str(escape(without_credentials(value)))


def table_html(packed: bytes) -> Markup:
    return Markup(zstandard.ZstdDecompressor().decompress(packed).decode())  # noqa: S704 - escaped when it was written
