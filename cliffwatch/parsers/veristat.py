"""Parses veristat's CSV and tables: the verifier's statistics for each program.

Source: tools/testing/selftests/bpf/veristat.c, `-o csv` and the default table. Metrics are named by
veristat's ids.
"""

import math
from dataclasses import replace

from cliffwatch.parsers.cleaning import clean_name
from cliffwatch.parsers.headings import names_both_sides
from cliffwatch.parsers.readings import Found, Lost, Parsed, Problem, ProblemList, problem_at
from cliffwatch.parsers.table.veristat_rows import arms_of, read_rows
from cliffwatch.samples import REFUSED_BY_VERIFIER, Assumed, CaseKey, Sample

_COUNTED = Assumed(better="lower", assume="exact")
"""The verifier's counts are the same on every load of a program. Only the duration varies."""

_Place = tuple[int, str, CaseKey]
"""Table, arm and program."""

_TWICE = "it is there twice, with other counts: two objects of one name? Run veristat on each of them alone"

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


def parse_veristat(text: str) -> Parsed:
    """Parses veristat's output. Never raises.

    - Each program is a benchmark (`FILE/PROG`), each numeric column a metric.
    - The values of a refused program show how far the verifier got, and are marked as doubted.
    - In veristat's own comparison (`-C`) each side is an arm, as are tables under headings such as `Before:`
      and `After:`.
    - A program that stands twice in one table with different counts is lost: veristat prints the name of an
      object without its folder, so these are two programs.
    """
    problems = ProblemList()
    found: list[Found] = []
    first: dict[_Place, dict[str, str]] = {}
    ambiguous: set[tuple[str, CaseKey]] = set()
    rows = tuple(read_rows(text, problems))
    sided = names_both_sides(row.side for row in rows)
    for row in rows:
        for named, cells in arms_of(row.cells):
            arm = named or (row.side or "other" if sided else "")
            case, before, told = _case(cells), len(found), len(problems)
            table = 0 if sided else row.table  # a side has a program once, whatever the table
            if _counts(first.setdefault((table, arm, case), cells)) != _counts(cells):
                ambiguous.add((arm, case))
                problems.append(problem_at(row.line.number, row.line.text, _TWICE, Lost(case, why=_TWICE)))
            _row(cells, found, problems, row.line.number, row.line.text)
            found[before:] = [each._replace(arm=arm) for each in found[before:]]
            problems[told:] = [_of_arm(each, arm) for each in problems[told:]]
    found = [each for each in found if (each.arm, each.sample.case) not in ambiguous]
    samples = [each.sample for each in found]
    counted = {(each.metric, each.unit): _COUNTED for each in samples if each.metric != "duration"}
    return Parsed(found=tuple(found), problems=problems.in_order(), assumed=counted)


def _case(row: dict[str, str]) -> CaseKey:
    return CaseKey("veristat", clean_name(f"{row.get('file_name', '')}/{row.get('prog_name', '')}"))


def _counts(row: dict[str, str]) -> dict[str, str]:
    return {name: cell for name, cell in row.items() if name in _UNITS and name != "duration"}


def _of_arm(problem: Problem, arm: str) -> Problem:
    if not arm:
        return problem
    lost = None if problem.lost is None else problem.lost._replace(arm=arm)
    return replace(problem, reason=f"{arm}: {problem.reason}", lost=lost)


def _row(row: dict[str, str], found: list[Found], problems: list[Problem], number: int, text: str) -> None:
    case = _case(row)
    refused = row.get("verdict", "").strip() not in ("success", "")
    if refused:
        reason = f"failed: the verifier refuses {case.benchmark}"
        problems.append(problem_at(number, text, reason, Lost(case, "refused", why=REFUSED_BY_VERIFIER)))
    for name, cell in row.items():
        if name in _NAMES or name == "verdict":
            continue
        value = _number(cell)
        if value is not None:
            unit = _UNITS.get(name, name)
            found.append(Found(Sample(case=case, metric=name, unit=unit, value=value), doubted=refused))
        elif name in _UNITS and cell.strip() and not refused:
            reason = f"'{cell[:40]}' of {name} is not a number"
            problems.append(problem_at(number, text, reason, Lost(case, metric=name)))


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
