"""Parses the output of prog-run: what BPF_PROG_RUN gave for each program of a BPF object.

Lines are `PROGRAM<tab>WHAT<tab>TEXT` (build/selftests/prog_run.c in the runner). A line without a program is
about the whole object.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from cliffwatch.parsers.readings import Problem, problem_at
from cliffwatch.samples import RESULT

RunStatus = Literal["ok", "refused", "unsupported", "failed"]
"""refused: the kernel does not load it; unsupported: BPF_PROG_RUN does not run it with this input."""

_UNITS = {"ns/run": "ns/run", "overhead": "ns/run", "retval": RESULT, "packet-changed": RESULT}
_LONGEST_REASON = 300


@dataclass(slots=True)
class ProgramRuns:
    """What was measured of one program."""

    name: str
    status: RunStatus = "ok"
    reason: str = ""
    """Empty if it was measured."""
    readings: dict[str, list[float]] = field(default_factory=dict)
    """By metric, oldest first."""

    def values(self) -> Mapping[str, tuple[float, str, tuple[float, ...]]]:
        """Median, unit and readings by metric; empty if it was not measured."""
        if self.status != "ok":
            return {}
        return {
            metric: (
                statistics.median(readings),
                _UNITS[metric],
                tuple(readings) if len(readings) > 1 else (),
            )
            for metric, readings in self.readings.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunObject:
    """The programs of a BPF object."""

    programs: tuple[ProgramRuns, ...]
    """In the object's order."""
    complaint: str
    """Why libbpf could not open the object; empty if it could."""
    problems: tuple[Problem, ...]


def read_program_runs(text: str) -> RunObject:
    """Parses the output of prog-run. Never raises: lines that cannot be read become problems."""
    programs: dict[str, ProgramRuns] = {}
    problems: list[Problem] = []
    complaint = ""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("\t", 2)
        if len(words) != 3:
            problems.append(problem_at(number, line, "prog-run prints no such line"))
            continue
        name, what, said = words
        if not name:
            complaint = said[:_LONGEST_REASON]
            continue
        program = programs.setdefault(name, ProgramRuns(name))
        value = _number(said) if what in _UNITS else None
        if value is not None:
            program.readings.setdefault(what, []).append(value)
        elif what in get_args(RunStatus):
            program.status, program.reason = _status(what), said[:_LONGEST_REASON]
        else:
            problems.append(problem_at(number, line, "prog-run prints no such line"))
    for each in programs.values():
        if each.status == "ok" and "ns/run" not in each.readings:
            each.status, each.reason = "failed", "prog-run ended before it was measured"
    return RunObject(programs=tuple(programs.values()), complaint=complaint, problems=tuple(problems))


def _status(word: str) -> RunStatus:
    return next(each for each in get_args(RunStatus) if each == word)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None
