"""Parses `go test -json`: events whose outputs together are the text that `go test` prints.

Outputs of packages that ran in parallel are separated again. An event may hold a part of a line: a
benchmark's name comes before its numbers.

Source: cmd/internal/test2json.
"""

import json
import re
from dataclasses import dataclass, replace

from cliffwatch.parsers.cleaning import Line
from cliffwatch.parsers.go_bench import parse_go_lines
from cliffwatch.parsers.readings import Parsed, ProblemList, in_order, problem_at

_ACTIONS = "start|run|pause|cont|pass|bench|fail|output|skip|build-output|build-fail|attr|artifacts"
_EVENT = re.compile(rf'(?m)^[ \t]{{0,8}}\{{[^\n]{{0,400}}?"Action"\s*:\s*"(?:{_ACTIONS})"')
_BEGIN = 1 << 16
_LONGEST_EVENT = 1 << 20


def looks_like_go_test(text: str) -> bool:
    """True if one of the first lines of the text is an event."""
    return _EVENT.search(text[:_BEGIN]) is not None


def parse_go_test(text: str) -> Parsed:
    """Parses the events like the text of `go test`, package by package.

    Other lines are problems. Never raises.
    """
    packages: dict[str, list[Line]] = {}
    unfinished: dict[tuple[str, str], _Unfinished] = {}
    problems = ProblemList()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        event = _event(line)
        if event is None:
            problems.append(problem_at(number, line, "not an event of `go test -json`; it was skipped"))
            continue
        package, test, output = event
        lines = packages.setdefault(package, [Line(number, f"pkg: {package}")] if package else [])
        lines += unfinished.setdefault((package, test), _Unfinished([], number)).with_output(output, number)
    for (package, _), rest in unfinished.items():
        packages[package] += rest.with_output("\n", rest.number)
    parsed = parse_go_lines([line for lines in packages.values() for line in lines])
    return replace(parsed, problems=in_order([*problems.in_order(), *parsed.problems]))


@dataclass(slots=True)
class _Unfinished:
    """The incomplete last line of a test's output."""

    pieces: list[str]
    number: int
    """The line of the file where the first piece stands."""

    def with_output(self, output: str, number: int) -> list[Line]:
        """Adds the output of line `number` of the file. Returns the lines that are complete now."""
        if not self.pieces:
            self.number = number
        *whole, rest = output.split("\n")
        lines: list[Line] = []
        for text in whole:
            lines.append(Line(self.number, "".join([*self.pieces, text]).rstrip()))
            self.pieces, self.number = [], number
        if rest:
            self.pieces.append(rest)
        return [line for line in lines if line.text]


def _event(line: str) -> tuple[str, str, str] | None:
    """Returns package, test and output of an event. None if the line is not an event."""
    if len(line) > _LONGEST_EVENT:
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("Action"), str):
        return None
    package, test, output = (event.get(name) for name in ("Package", "Test", "Output"))
    of_output = isinstance(output, str) and event["Action"] in ("output", "build-output")
    return _word(package), _word(test), str(output) if of_output else ""


def _word(content: object) -> str:
    return " ".join(content.split()) if isinstance(content, str) else ""
