"""veristat's CSV: what the verifier did with each program.

Source: tools/testing/selftests/bpf/veristat.c, `-o csv`; headers by the ids of its statistics.
"""

import csv
import io
import math

from cliffwatch.parsers.cleaning import clean_lines, name_of
from cliffwatch.parsers.readings import Found, Parsed, Problem, problem_at
from cliffwatch.samples import Assumed, CaseKey, Sample

_COUNTED = Assumed(better="lower", assume="exact")
"""The verifier counts alike whenever it loads a program again, but for the time it takes."""

_NAMES = {"file_name": "file", "prog_name": "prog"}
_UNITS = {
    "duration": "us",
    "total_insns": "insns",
    "total_states": "states",
    "peak_states": "states",
    "max_states_per_insn": "states/insn",
    "mark_read_max_len": "states",
    "size": "insns",
    "jited_size": "bytes",
    "stack": "bytes",
    "mem_peak": "bytes",
}


def looks_like_veristat(text: str) -> bool:
    first = next((line.text for line in clean_lines(text[:4096]) if line.text.strip()), "")
    return "file_name" in first and "prog_name" in first


def parse_veristat(text: str) -> Parsed:
    """One benchmark a program (`FILE/PROG`), one metric a numeric column; a program that fails is a problem. Total."""
    lines = [line for line in clean_lines(text) if line.text.strip()]
    problems: list[Problem] = []
    found: list[Found] = []
    header: list[str] | None = None
    for line in lines:
        try:
            cells = next(csv.reader(io.StringIO(line.text)))
        except (csv.Error, StopIteration):
            problems.append(problem_at(line.number, line.text, "no line of CSV"))
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
        elif len(cells) != len(header):
            reason = f"{len(cells)} columns where the header has {len(header)}"
            problems.append(problem_at(line.number, line.text, reason))
        else:
            _row(dict(zip(header, cells, strict=True)), found, problems, line.number, line.text)
    if header is not None and not {"file_name", "prog_name"} <= set(header):
        problems.insert(0, problem_at(lines[0].number, lines[0].text, "no header of veristat"))
        return Parsed(found=(), problems=tuple(problems))
    samples = [each.sample for each in found]
    counted = {(each.metric, each.unit): _COUNTED for each in samples if each.metric != "duration"}
    return Parsed(found=tuple(found), problems=tuple(problems), assumed=counted)


def _row(row: dict[str, str], found: list[Found], problems: list[Problem], number: int, text: str) -> None:
    benchmark = f"{row.get('file_name', '')}/{row.get('prog_name', '')}"
    if row.get("verdict", "success") not in ("success", ""):
        problems.append(problem_at(number, text, f"failed: the verifier refuses {benchmark}"))
    case = CaseKey("veristat", name_of(benchmark))
    for name, cell in row.items():
        if name in _NAMES or name == "verdict":
            continue
        try:
            value = float(cell)
        except ValueError:
            continue
        if math.isfinite(value):
            unit = _UNITS.get(name, name)
            found.append(Found(Sample(case=case, metric=name, unit=unit, value=value)))
