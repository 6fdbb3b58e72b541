"""Reads the rows of veristat's output: CSV or table, one side or veristat's own comparison of two (`-C`)."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.parsers.cleaning import Line, clean_lines
from cliffwatch.parsers.headings import side_of
from cliffwatch.parsers.readings import Problem, problem_at

_BAR = re.compile(r"-+(?: +-+)+")
_GAP = re.compile(r" {2,}|\t+")
_PADDED = re.compile(r"(?<! ) {2,}(\((?:A|B|DIFF)\))")
"""A wide column has its blanks between title and side."""
_CHATTER = re.compile(r"Processing '|Done\. Processed |PROCESSING |\s*$|=+$")
_NOT_OPENED = re.compile(r"Failed to (?:open|load|process) |Can't |Error ")
_BEGIN = 4096
"""Characters that are searched for a header if the raw text shows none: cleaning may reveal one."""

_ABSENT = "N/A"
_SIDES = {"_base": "base", "_comp": "comp"}
_DIFFERENCE = "_diff"
_IDS: Mapping[str, str] = {
    "File": "file_name",
    "Program": "prog_name",
    "Verdict": "verdict",
    "Duration (us)": "duration",
    "Insns": "total_insns",
    "Total insns": "total_insns",
    "States": "total_states",
    "Total states": "total_states",
    "Peak states": "peak_states",
    "Max states per insn": "max_states_per_insn",
    "Max mark read length": "mark_read_max_len",
    "Program size": "size",
    "Jited size": "jited_size",
    "Stack depth": "stack",
    "Program type": "prog_type",
    "Attach type": "attach_type",
    "Peak memory (MiB)": "mem_peak",
}
_SIDES_OF_TABLE = {" (A)": "_base", " (B)": "_comp", " (DIFF)": _DIFFERENCE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of veristat's output."""

    line: Line
    cells: Mapping[str, str]
    """By the column ids of veristat's CSV."""
    table: int
    """Line of the header above it."""
    side: str
    """base or head under a heading such as `Before:`, see `side_of`; else empty."""


def looks_like_veristat(text: str) -> bool:
    """True if the text contains a header of veristat. Failed opens and the verifier's logs may precede it."""
    sought = text if _may_be_header(text) else text[:_BEGIN]
    return any(_header(line.text) is not None for line in clean_lines(sought) if _may_be_header(line.text))


def _may_be_header(text: str) -> bool:
    return "prog_name" in text or ("Program" in text and "File" in text)


def read_rows(text: str, problems: list[Problem]) -> Iterator[Row]:
    """Yields the rows below each header. Other lines become problems."""
    header: Sequence[str] = ()
    table, as_csv, side = 0, True, ""
    for line in clean_lines(text):
        found = _header(line.text) if _may_be_header(line.text) else None
        if found is not None:
            header, table, as_csv = found, line.number, "," in line.text
            continue
        if named := side_of(line.text):
            side = named
            continue
        if _CHATTER.match(line.text) or _BAR.fullmatch(line.text.strip()):
            continue
        if _NOT_OPENED.match(line.text):
            problems.append(problem_at(line.number, line.text, f"failed: {line.text.strip()}"))
            continue
        cells = _cells(line.text) if as_csv else _GAP.split(line.text.strip())
        if not header:
            problems.append(
                problem_at(line.number, line.text, "it stands before veristat's header and was skipped")
            )
        elif cells is None:
            problems.append(problem_at(line.number, line.text, "not a line of CSV"))
        elif len(cells) != len(header):
            reason = f"{len(cells)} columns, but the header has {len(header)}"
            problems.append(problem_at(line.number, line.text, reason))
        else:
            yield Row(line=line, cells=dict(zip(header, cells, strict=True)), table=table, side=side)


def _header(text: str) -> list[str] | None:
    """Returns the ids of the columns. None if the line is not a header."""
    if "," in text:
        cells = [cell.strip() for cell in _cells(text) or []]
        return cells if {"file_name", "prog_name"} <= set(cells) else None
    names = [_id(name) for name in _GAP.split(_PADDED.sub(r" \1", text.strip()))]
    return names if {"file_name", "prog_name"} <= set(names) else None


def _cells(text: str) -> list[str] | None:
    try:
        return next(csv.reader([text]), None)
    except csv.Error:
        return None


def _id(name: str) -> str:
    """Converts a column title of the table to its id, with the suffix of its side."""
    for mark, side in _SIDES_OF_TABLE.items():
        if name.endswith(mark):
            return _IDS.get(name.removesuffix(mark), name.removesuffix(mark)) + side
    return _IDS.get(name, name)


def arms_of(cells: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields the cells of each side of a comparison, with the side's name.

    Sides without the program are left out.

    Other rows are yielded whole, with an empty name.
    """
    if not any(name.endswith(tuple(_SIDES)) for name in cells):
        yield "", dict(cells)
        return
    shared = {name: cell for name, cell in cells.items() if not name.endswith((*_SIDES, _DIFFERENCE))}
    for ending, arm in _SIDES.items():
        own = {name.removesuffix(ending): cell for name, cell in cells.items() if name.endswith(ending)}
        there = {name: cell for name, cell in own.items() if cell.strip() not in (_ABSENT, "")}
        if there:
            yield arm, {**shared, **there}
