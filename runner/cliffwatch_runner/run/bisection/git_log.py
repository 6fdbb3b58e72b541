"""Writes the log of a bisection in git's format.

`git bisect replay` reads it; its comments show sizes and verdicts.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.styles import plain
from cliffwatch.stats.history.culprits.question import ChangeDirection, Mark, Pair, SearchResult
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
    sought: ChangeDirection,
    found: SearchResult | None,
) -> str:
    """Returns the log: the marks in order, with the rows of each commit as comments.

    `found` adds the culprits. A merge base is marked good if one side of a merge is searched from there.
    """
    lines = ["git bisect start"]
    if sought == "improvement":
        lines.append("# searching for an improvement: bad commits are the better ones")
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


def row_line(row: ComparisonRow) -> str:
    """Returns one line about a case of a commit, compared with another commit."""
    if row.reason == UNCHANGED_BUILD:
        return f"{row.case} {row.metric} not measured: {row.reason}"
    values = f"{figures.value(row.base)} -> {figures.value(row.head)} {row.unit}"
    return f"{row.case} {row.metric} {values}, {figures.change(row)}, {row.verdict}"


class LogFile:
    """The log of a running bisection.

    It is rewritten after each pair, so a reader always finds it complete.
    """

    def __init__(self, path: Path, describe: Describe, sought: ChangeDirection) -> None:
        self._path = path
        self._describe = describe
        self._sought: ChangeDirection = sought
        self._compared: dict[Pair, Rows] = {}
        self._skipped: dict[str, str] = {}
        self._marks: Sequence[Mark] = ()

    def take(self, pair: Pair, rows: Rows | Skipped) -> None:
        """Records the rows of a pair for the comments."""
        if isinstance(rows, Skipped):
            self._skipped[rows.commit] = rows.reason
        else:
            self._compared[pair] = rows

    def write(self, marks: Sequence[Mark]) -> None:
        """Raises OSError if the file cannot be written."""
        self._marks = marks
        self._write(None)

    def end(self, ended: Bisected) -> None:
        """Writes the log with the culprits."""
        self._write(ended.found)

    def _write(self, found: SearchResult | None) -> None:
        text = log_text(self._marks, self._compared, self._skipped, self._describe, self._sought, found)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(text)
