"""Finds the benchmarks of a Go output without a result: failed, skipped, ended by a panic or cut off.

It also finds packages that failed as a whole.

Source: testing/benchmark.go.

- A failure in the first iteration is printed without the number of processors.
- A later failure is printed with it, after the name: `BenchmarkX-8 --- FAIL: BenchmarkX-8`.
- With -v each name is printed alone before its result.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from cliffwatch.parsers.cleaning import Line
from cliffwatch.parsers.readings import Lost, Problem, problem_at
from cliffwatch.samples import CaseKey, CaseStatus

PROCS = "procs"
"""The parameter for the number of processors in a benchmark's name."""

_ENDED = re.compile(r"(?:Benchmark\S+\s+)?--- (?P<how>FAIL|SKIP): (?P<name>\S+)")
_CRASH = re.compile(
    r"(?:(?P<name>Benchmark\S+)\s+)?(?P<why>(?:panic|fatal error|SIG[A-Z]+|signal|\*\*\* Test killed)\b.*)"
)
_PACKAGE = re.compile(r"FAIL\s+(?P<package>\S+)(?:\s+(?P<why>.+))?")
_OVER = re.compile(r"(?:PASS|FAIL|ok|exit status|goos:|goarch:|pkg:|cpu:)(?:\s|$)")
_BEGUN = re.compile(r"(?P<name>Benchmark[^\sa-z]\S*)(?P<rest>\s.*)?")
_TIME = re.compile(r"[\d.]+s")
_OURS = re.compile(
    r"(?P<status>failed|refused|panic|timeout|unsupported|not-run|unchanged-build):(?: (?P<why>.*))?"
)
_LONGEST_WHY = 300


Where = Callable[[], tuple[str, str]]
"""Returns arm and suite of a line."""


@dataclass(slots=True)
class _MissingResult:
    """A benchmark or package without a result."""

    line: Line
    """The line that reports it."""
    case: CaseKey
    arm: str
    status: CaseStatus
    what: str
    """What happened, such as `it failed`."""
    why: str = ""
    """The reason that the output gives; empty if it gives none."""


class GoFailures:
    """Reads the lines of an output that are not results. `case_of` makes a case from a suite and a name."""

    def __init__(self, case_of: Callable[[str, str], CaseKey]) -> None:
        self._case_of = case_of
        self._ended: list[_MissingResult] = []
        self._begun: dict[tuple[str, CaseKey], Line] = {}
        self._open: _MissingResult | None = None
        self._crashed = False
        self._waits = False
        self._told = 0
        self._last: Line | None = None

    def result(self) -> None:
        """Announces a result, which ends the benchmark that had begun."""
        self._open, self._crashed, self._waits, self._last = None, False, False, None

    def read(self, line: Line, where: Where) -> bool:
        """Reads a line. True if it reports a missing result, or belongs to such a report."""
        text = line.text.lstrip()
        if not text:
            return False
        self._last = None
        return self._read_end(line, text, where) or self._read_begin(line, text, where)

    def _read_end(self, line: Line, text: str, where: Where) -> bool:
        """Reads a line. True if it says that something ended without a result, or why."""
        if ended := _ENDED.match(text):
            self._end(line, *where(), ended["name"], failed=ended["how"] == "FAIL")
        elif self._crashed and not _OVER.match(text):
            pass
        elif crash := _CRASH.match(text):
            self._crash(line, *where(), crash["name"], crash["why"])
        elif package := _PACKAGE.fullmatch(text):
            self._end_package(line, where()[0], package["package"], package["why"] or "")
        elif self._waits and line.text[:1].isspace():
            self._ended[-1].why = self._ended[-1].why or text[:_LONGEST_WHY]
        else:
            self._waits = False
            return False
        return True

    def _read_begin(self, line: Line, text: str, where: Where) -> bool:
        """Reads a line. True if it is the name of a benchmark without a result after it."""
        begun = _BEGUN.fullmatch(text)
        if begun is not None:
            return self._begin(line, *where(), begun["name"], begun["rest"] or "")
        if _OVER.match(text):
            self._crashed, self._open = False, None
        if text.startswith(("ok ", "ok\t", "goos:", "pkg:")):
            self._told = len(self._ended)
        return False

    def _case(self, suite: str, name: str) -> CaseKey:
        return self._case_of(suite, name.removeprefix("Benchmark"))

    def _begin(self, line: Line, arm: str, suite: str, name: str, rest: str) -> bool:
        """Reads a name without a result after it.

        Go writes a tab after the name. After a blank, the words may be prose.
        """
        case, words = self._case(suite, name), rest.split()
        if words and words[0].isdecimal():
            self._ended.append(
                _MissingResult(line, case, arm, "failed", "its line is cut off", rest.strip()[:_LONGEST_WHY])
            )
        elif not words or "\t" in rest[: len(rest) - len(rest.lstrip())]:
            self._open = _MissingResult(line, case, arm, "failed", "it began and gave no result")
            self._begun.setdefault((arm, case), line)
            self._last = None if words else line
        else:
            return False
        return True

    def _end(self, line: Line, arm: str, suite: str, name: str, *, failed: bool) -> None:
        self._open, self._crashed = None, False
        if not name.startswith("Benchmark"):
            return
        what = "it failed" if failed else "it was skipped"
        self._ended.append(
            _MissingResult(line, self._case(suite, name), arm, "failed" if failed else "not-run", what)
        )
        self._waits = True

    def _crash(self, line: Line, arm: str, suite: str, name: str | None, why: str) -> None:
        opened = _MissingResult(line, self._case(suite, name), arm, "failed", "") if name else self._open
        if opened is None:
            opened = _MissingResult(line, CaseKey(suite, suite), arm, "failed", "")
        opened.what, opened.line = why[:_LONGEST_WHY], line
        self._ended.append(opened)
        self._open, self._crashed, self._waits = None, True, False

    def _end_package(self, line: Line, arm: str, package: str, why: str) -> None:
        """Records a failed package, unless the failure of one of its benchmarks was reported already."""
        if len(self._ended) == self._told:
            what = f"the package {package} failed"
            shown = "" if _TIME.fullmatch(why) else why.strip("[]")
            self._ended.append(_MissingResult(line, CaseKey(package, package), arm, "failed", what, shown))
        self._told, self._crashed, self._open, self._waits = len(self._ended), False, None, False

    def problems(self, measured: Iterable[CaseKey]) -> list[Problem]:
        """Returns a problem for each missing result. `measured` are the cases that have a result."""
        known: dict[tuple[str, str], CaseKey] = {}
        for case in measured:
            known.setdefault((case.suite, case.benchmark), case)
        return [
            _problem(each, _name_case(each.case, known))
            for each in [*self._with_causes(), *self._unfinished(known)]
        ]

    def _with_causes(self) -> list[_MissingResult]:
        """Leaves out parent benchmarks, which fail only because one of their sub-benchmarks fails."""
        failed = [each.case for each in self._ended if each.status == "failed"]
        return [
            each
            for each in self._ended
            if not any(
                other.suite == each.case.suite and is_part_of(other.benchmark, each.case.benchmark)
                for other in failed
            )
        ]

    def _unfinished(self, known: dict[tuple[str, str], CaseKey]) -> Iterable[_MissingResult]:
        """Yields the benchmarks that began and have no result, or with which the output ends."""
        ended = {(each.case.suite, each.case.benchmark) for each in self._ended}
        for (arm, case), line in self._begun.items():
            names = [name for suite, name in (*known, *ended) if suite == case.suite]
            done = any(name == case.benchmark or is_part_of(name, case.benchmark) for name in names)
            if line is self._last or not done:
                yield _MissingResult(
                    line,
                    case,
                    arm,
                    "failed",
                    "the output ends where it began: it was cut off"
                    if line is self._last
                    else "it began and gave no result",
                )


def is_part_of(benchmark: str, whole: str) -> bool:
    """True if a benchmark is a sub-benchmark of another one."""
    return benchmark.startswith(f"{whole}/")


def _name_case(case: CaseKey, known: dict[tuple[str, str], CaseKey]) -> CaseKey:
    """Adds the number of processors from elsewhere in the output, if the case's own line lacks it."""
    if case.params:
        return case
    itself = known.get((case.suite, case.benchmark))
    if itself is not None:
        return itself
    numbers = {each.params for (suite, _), each in known.items() if suite == case.suite}
    params = numbers.pop() if len(numbers) == 1 else ()
    return case._replace(params=params) if [name for name, _ in params] == [PROCS] else case


def _problem(each: _MissingResult, case: CaseKey) -> Problem:
    ours = _OURS.fullmatch(each.why) if each.what in ("it failed", "it was skipped") else None
    status = cast("CaseStatus", ours["status"]) if ours else each.status
    why = ours["why"] or "" if ours else f"{each.what}: {each.why}" if each.why else each.what
    word = "failed" if status == "failed" else status
    return problem_at(
        each.line.number, each.line.text, f"{word}: {case}: {why}", Lost(case, status, why=why, arm=each.arm)
    )
