"""`go test -json`: events, whose outputs together are what `go test` prints. Packages that ran at once are
told apart again.

Source: cmd/internal/test2json. An event may hold a part of a line: a benchmark's name comes before its
numbers.
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
    """Whether one of its first lines is an event."""
    return _EVENT.search(text[:_BEGIN]) is not None


def parse_go_test(text: str) -> Parsed:
    """As the text that `go test` prints, package by package. What is no event is a problem. Total."""
    packages: dict[str, list[Line]] = {}
    unfinished: dict[tuple[str, str], _Unfinished] = {}
    problems = ProblemList()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        event = _event(line)
        if event is None:
            problems.append(problem_at(number, line, "no event of `go test -json`; it was skipped"))
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
    """What a test printed since its last whole line, and the line of the file where that begins."""

    pieces: list[str]
    number: int

    def with_output(self, output: str, number: int) -> list[Line]:
        """The lines that are whole now."""
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
    """Package, test and output of an event; None of what is none."""
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
