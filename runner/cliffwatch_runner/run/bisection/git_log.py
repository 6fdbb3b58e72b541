"""The log of a bisection as git writes its own: `git bisect replay` takes it, and a person reads sizes and verdicts in it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cliffwatch.comparing.comparison import Comparison
from cliffwatch.reports import figures
from cliffwatch.reports.styles import plain
from cliffwatch.stats.history.culprits.question import Found, Mark, Pair, Sought
from cliffwatch_runner.run.bisection.bisecting import Bisected
from cliffwatch_runner.run.bisection.commits import CommitFacts
from cliffwatch_runner.run.bisection.pairs import Rows, Skipped
from cliffwatch_runner.run.bisection.unchanged import UNCHANGED_BUILD

Describe = Callable[[str], CommitFacts]


def log_text(
    marks: Sequence[Mark],
    compared: Mapping[Pair, Rows],
    skipped: Mapping[str, str],
    describe: Describe,
    sought: Sought,
    found: Found | None,
) -> str:
    """Marks in their order; of each commit the rows of the pairs that it was the head of, as comments. With the end of the search also what
    was found. A merge base is marked good as where its side begins.
    """
    lines = ["git bisect start"]
    if sought == "improvement":
        lines.append("# bad is from where on it is better")
    for mark in dict.fromkeys(marks):
        lines.append(f"# {mark.word}: [{mark.commit}] {plain(describe(mark.commit).subject)}")
        lines += [
            f"# {line}"
            for pair, rows in compared.items()
            if pair.head == mark.commit
            for line in _rows(pair, rows)
        ]
        if mark.commit in skipped:
            lines.append(f"# {plain(skipped[mark.commit])}")
        lines.append(f"git bisect {mark.word} {mark.commit}")
    for step in found.steps if found is not None else ():
        first = "first bad commit" if len(step.commits) == 1 else "one of the possible first bad commits"
        kind = first if step.way == sought else f"also {step.way}"
        lines += [
            f"# {kind}: [{commit}] {plain(describe(commit).subject)}: {plain(step.row)}"
            for commit in step.commits
        ]
    return "\n".join(lines) + "\n"


def _rows(pair: Pair, rows: Rows) -> list[str]:
    return [plain(f"against {pair.base[:12]}: {row_line(row)}") for row in rows]


def row_line(row: Comparison) -> str:
    """A case of a commit against another one, in a line."""
    if row.reason == UNCHANGED_BUILD:
        return f"{row.case} {row.metric} not measured: {row.reason}"
    values = f"{figures.value(row.base)} -> {figures.value(row.head)} {row.unit}"
    return f"{row.case} {row.metric} {values}, {figures.change(row)}, {row.verdict}"


class LogFile:
    """The log while a bisection goes on: written anew after each pair, so that it is whole whenever it is read."""

    def __init__(self, path: Path, describe: Describe, sought: Sought) -> None:
        self._path = path
        self._describe = describe
        self._sought: Sought = sought
        self._compared: dict[Pair, Rows] = {}
        self._skipped: dict[str, str] = {}
        self._marks: Sequence[Mark] = ()

    def take(self, pair: Pair, rows: Rows | Skipped) -> None:
        """What came of a pair, for the comments."""
        if isinstance(rows, Skipped):
            self._skipped[rows.commit] = rows.reason
        else:
            self._compared[pair] = rows

    def write(self, marks: Sequence[Mark]) -> None:
        """Raises OSError where the file cannot be written."""
        self._marks = marks
        self._write(None)

    def end(self, ended: Bisected) -> None:
        """The log with what was found."""
        self._write(ended.found)

    def _write(self, found: Found | None) -> None:
        text = log_text(self._marks, self._compared, self._skipped, self._describe, self._sought, found)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(text)
