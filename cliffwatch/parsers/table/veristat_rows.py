"""The rows of what veristat prints, as CSV or as a table, of one side or of its comparison of two (`-C`)."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.parsers.cleaning import Line, clean_lines
from cliffwatch.parsers.readings import Problem, problem_at

_BAR = re.compile(r"-+(?: +-+)+")
_GAP = re.compile(r" {2,}|\t+")
_CHATTER = re.compile(r"Processing '|Done\. Processed |PROCESSING |\s*$|=+$")
_NOT_OPENED = re.compile(r"Failed to (?:open|load|process) |Can't |Error ")
_BEGIN = 4096
"""Characters in which a header may come out by cleaning."""

_ABSENT = "N/A"
_SIDES = {"_base": "base", "_comp": "comp"}
_DIFFERENCE = "_diff"
_IDS: Mapping[str, str] = {
    "File": "file_name",
    "Program": "prog_name",
    "Verdict": "verdict",
    "Duration (us)": "duration",
    "Insns": "total_insns",
    "States": "total_states",
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
    """The cells of a line by the ids that veristat's CSV has."""

    line: Line
    cells: Mapping[str, str]


def looks_like_veristat(text: str) -> bool:
    """Whether a header of veristat is somewhere in it: before it stands what could not be opened, and the
    verifier's logs.
    """
    sought = text if _may_be_header(text) else text[:_BEGIN]
    return any(_header(line.text) is not None for line in clean_lines(sought) if _may_be_header(line.text))


def _may_be_header(text: str) -> bool:
    return "prog_name" in text or ("Program" in text and "File" in text)


def read_rows(text: str, problems: list[Problem]) -> Iterator[Row]:
    """The rows below each header; what is no row is a problem."""
    header: Sequence[str] = ()
    as_csv = True
    for line in clean_lines(text):
        found = _header(line.text) if _may_be_header(line.text) else None
        if found is not None:
            header, as_csv = found, "," in line.text
            continue
        if _CHATTER.match(line.text) or _BAR.fullmatch(line.text.strip()):
            continue
        if _NOT_OPENED.match(line.text):
            problems.append(problem_at(line.number, line.text, f"failed: {line.text.strip()}"))
            continue
        cells = _cells(line.text) if as_csv else _GAP.split(line.text.strip())
        if not header:
            problems.append(
                problem_at(line.number, line.text, "it stands before veristat's header; it was skipped")
            )
        elif cells is None:
            problems.append(problem_at(line.number, line.text, "no line of CSV"))
        elif len(cells) != len(header):
            reason = f"{len(cells)} columns where the header has {len(header)}"
            problems.append(problem_at(line.number, line.text, reason))
        else:
            yield Row(line=line, cells=dict(zip(header, cells, strict=True)))


def _header(text: str) -> list[str] | None:
    """The ids of the columns; None of a line that is no header."""
    if "," in text:
        cells = [cell.strip() for cell in _cells(text) or []]
        return cells if {"file_name", "prog_name"} <= set(cells) else None
    names = [_id(name) for name in _GAP.split(text.strip())]
    return names if {"file_name", "prog_name"} <= set(names) else None


def _cells(text: str) -> list[str] | None:
    try:
        return next(csv.reader([text]), None)
    except csv.Error:
        return None


def _id(name: str) -> str:
    """The id of a table's column, with the side that it is of."""
    for mark, side in _SIDES_OF_TABLE.items():
        if name.endswith(mark):
            return _IDS.get(name.removesuffix(mark), name.removesuffix(mark)) + side
    return _IDS.get(name, name)


def arms_of(cells: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The cells of each side of a comparison, by its name; of other rows all of them, without a name. A side
    that has not the program has no cells.
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
