"""The answer to "what changed?", which every report, page, comment, mail and API response opens with."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cliffwatch.comparing.attribution.blocks import of_row
from cliffwatch.comparing.attribution.cause import name_causes
from cliffwatch.comparing.comparison import (
    BETWEEN_MEASUREMENTS,
    CHANGES,
    ChangedRow,
    ComparisonSet,
    size_of,
)
from cliffwatch.comparing.ordering import CHANGED, COUNTED, detectable
from cliffwatch.counting import count_noun
from cliffwatch.reports import figures
from cliffwatch.reports.context import NO_CONTEXT, ReportContext
from cliffwatch.reports.several.across import Across, Target, across, others_unchanged
from cliffwatch.samples import is_rehearsal

if TYPE_CHECKING:  # as in `cause`
    from cliffwatch.comparing.attribution.changes import Functions

REHEARSED = "rehearsal: "
"""How the answer of a rehearsal begins."""

_NOTHING = "nothing was compared"
_MOST_CAUSES = 2
_LONGEST_ERROR = 200


class FailedArm(Protocol):
    """An arm that could not be measured."""

    @property
    def arm(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def evidence(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What changed, in one or two sentences."""

    result: str
    """`5 slower (up to 5.2 % more instructions), 2 unchanged`: no full stop, and no text of a tree."""
    why: str
    """What the changed rows share, their cause, or why nothing was compared; empty if unknown."""

    @property
    def is_failure(self) -> bool:
        """True if nothing was compared, for the reason in `why`."""
        return self.result == _NOTHING and bool(self.why)

    @property
    def heading(self) -> str:
        """The result, or why nothing was compared."""
        return str(self) if self.is_failure else self.result

    @property
    def below(self) -> str:
        """The sentences below the heading; may be empty."""
        return "" if self.is_failure else self.why

    def __str__(self) -> str:
        if not self.why:
            return self.result
        return f"{self.result}{':' if self.is_failure else '.'} {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What an answer says beside its rows."""

    in_turns: bool
    """True if base and head took turns on every target."""
    unchanged_builds: int = 0
    """Number of cases whose programs were built the same."""
    causes: Sequence[str] = ()
    """Formatted, those of the largest change first."""
    failures: Sequence[FailedArm] = ()
    """Arms that could not be measured."""
    marked: Callable[[str], str] = str
    """Formats names and errors, which are a tree's own text."""


def answer_set(
    compared: ComparisonSet, context: ReportContext = NO_CONTEXT, marked: Callable[[str], str] = str
) -> Answer:
    """Answers for two arms. `marked` formats names and errors, which are a tree's own text."""
    return answer_across(
        across([compared.rows]),
        (),
        Circumstances(
            in_turns=compared.took_turns,
            unchanged_builds=len(compared.unchanged_builds()),
            causes=causes_of_set(compared, context.functions, marked),
            failures=context.failures,
            marked=marked,
        ),
    )


def causes_of_set(
    compared: ComparisonSet, functions: "Functions", marked: Callable[[str], str]
) -> tuple[str, ...]:
    """Names the causes of the changed rows, those of the largest change first."""
    if not functions:
        return ()
    changed = sorted(compared.changed_rows(), key=lambda row: -size_of(row))
    found = (of_row(compared, functions, row) for row in changed)
    return name_causes((each for each in found if each is not None), marked)


def answer_across(rows: Sequence[Across], targets: Sequence[Target], beside: Circumstances) -> Answer:
    """Answers for rows over all targets, and names what changed on one of several `targets` alone."""
    marked = beside.marked
    if beside.failures and all(row.verdict in ("failed", "missing") for row in rows):
        return Answer(_NOTHING, "; ".join(_name_failures(beside.failures, marked)))
    parts = dict(_parts(rows, in_turns=beside.in_turns))
    if beside.unchanged_builds:
        parts["unchanged-build"] = count_noun(beside.unchanged_builds, "unchanged build")
    result = f"{_rehearsed(rows)}{_without_change(parts, rows)}{', '.join(parts.values())}"
    left = len(beside.causes) - _MOST_CAUSES
    cause = "; ".join([*beside.causes[:_MOST_CAUSES], *([f"{left} more"] if left > 0 else [])])
    shared = list(_shared(rows, marked))
    common = f"All {', all '.join(shared)}" if shared else ""
    if cause and (not common or len({row.verdict for row in rows} & set(CHANGES)) > 1):
        common = f"{common}. Cause" if common else "Cause"  # of changes, but not of one kind alone
    why = ": ".join(filter(None, (common, cause)))
    alone = (f"On {marked(targets[index].name)} only: {counts}." for index, counts in _on_one(rows, targets))
    return Answer(result, " ".join([*([f"{why}."] if why else []), *alone]))


def _rehearsed(rows: Sequence[Across]) -> str:
    """Returns how an answer begins that is of rehearsals alone: a subject, a title or a list has no more."""
    rehearsed = [is_rehearsal(cell.platform) for row in rows for cell in row.judged]
    return REHEARSED if rehearsed and all(rehearsed) else ""


def _on_one(rows: Sequence[Across], targets: Sequence[Target]) -> Iterator[tuple[int, str]]:
    if len(targets) < 2:
        return
    for index in range(len(targets)):
        alone = [
            row for row in rows if row.verdict in CHANGES and row.where == (index,) and others_unchanged(row)
        ]
        counts = [
            count_rows(same, verdict)
            for verdict in CHANGES
            if (same := [row for row in alone if row.verdict == verdict])
        ]
        if counts:
            yield index, ", ".join(counts)


def _parts(rows: Sequence[Across], *, in_turns: bool) -> Iterator[tuple[str, str]]:
    """Yields the count of each verdict. Changes between separate measurements share one count."""
    of_verdict = {
        verdict: same for verdict in COUNTED if (same := [row for row in rows if row.verdict == verdict])
    }
    apart = [row for row in rows if row.verdict in CHANGED and not in_turns and not _is_counted(row)]
    separate = set(map(id, apart))
    for verdict, same in of_verdict.items():
        if apart and verdict in CHANGED:
            counts = [
                count_rows(own, each)
                for each in of_verdict
                if (own := [row for row in apart if row.verdict == each])
            ]
            yield "apart", f"{_count_apart(apart)} ({', '.join(counts)}){_size_apart(apart)}"
            apart = []
        if left := [row for row in same if id(row) not in separate]:
            yield verdict, count_rows(left, verdict) + (_range(left, verdict) if verdict in CHANGES else "")


def _count_apart(rows: Sequence[Across]) -> str:
    return f"{len(rows):,} {'differs' if len(rows) == 1 else 'differ'} {BETWEEN_MEASUREMENTS}"


def _size_apart(rows: Sequence[Across]) -> str:
    cells = [cell for row in rows for cell in row.judged if cell.verdict in CHANGES]
    sizes = [abs(cell.change) for cell in cells if cell.change is not None]
    return f" by {'up to ' if len(cells) > 1 else ''}{figures.brief_size(max(sizes))}" if sizes else ""


def _is_counted(row: Across) -> bool:
    """True if the change is of counted values only, which do not drift."""
    return all(cell.interval_level is None for cell in row.judged if cell.verdict in CHANGES)


def count_rows(rows: Sequence[Across], verdict: str) -> str:
    """Returns `2 slower`, `1 unchanged`, `3 with opposite changes`."""
    return f"{len(rows):,} {word_of([cell for row in rows for cell in row.judged], verdict)}"


def word_of(cells: Sequence[ChangedRow], verdict: str) -> str:
    """Names a verdict of rows: `slower`, or `worse` if not all rows with it are times or rates."""
    return figures.verdict_in_words(verdict, (cell.unit for cell in cells if cell.verdict == verdict))


def _range(rows: Sequence[Across], verdict: str) -> str:
    return size_range([cell for row in rows for cell in row.judged], verdict)


def size_range(cells: Sequence[ChangedRow], verdict: str) -> str:
    """Returns the size of the largest change of a verdict: ` (up to 5.2 % more instructions)`."""
    cells = [cell for cell in cells if cell.verdict == verdict]
    if not cells:
        return ""
    largest = max(cells, key=size_of)
    if largest.change is None:
        size = figures.step_words(largest.base, largest.head, largest.unit)
    elif verdict == "changed":
        size = figures.brief_size(largest.change)
    else:
        size = figures.size_words(largest.change, largest.unit, largest.mode)
    return f" ({'up to ' if len(cells) > 1 and largest.change is not None else ''}{size})"


def _without_change(parts: dict[str, str], rows: Sequence[Across]) -> str:
    """Returns how an answer without a change begins, and says what would have been seen."""
    if not parts:
        parts["none"] = _NOTHING
    if "none" in parts or "apart" in parts or any(verdict in parts for verdict in CHANGED):
        return ""
    if not {"unchanged", "inconclusive", "unchanged-build"} & parts.keys():
        return "nothing comparable: "
    reach = detectable([cell for row in rows for cell in row.judged])
    if reach is not None and "unchanged" in parts:
        each = "" if parts["unchanged"] == "1 unchanged" else "each "
        parts["unchanged"] += f" ({each}would have shown {figures.brief_size(reach.largest)})"
    return "no change: " if parts.keys() <= {"unchanged", "unchanged-build"} else "no change shown: "


def _shared(rows: Sequence[Across], marked: Callable[[str], str]) -> Iterator[str]:
    """Yields what changed rows have in common: `of ringbufs`. Skips what all rows share."""
    verdicts = [verdict for verdict in CHANGES if any(row.verdict == verdict for row in rows)]
    for verdict in verdicts:
        changed = [row for row in rows if row.verdict == verdict]
        for name in ("benchmark", "suite"):
            names = {getattr(row, name) for row in changed}
            if len(changed) > 1 and len(names) == 1 and len({getattr(row, name) for row in rows}) > 1:
                which = [cell for row in changed for cell in row.judged]
                kind = f"{word_of(which, verdict)} are " if len(verdicts) > 1 else ""
                yield f"{kind}of {marked(names.pop())}"
                break


def _name_failures(failures: Iterable[FailedArm], marked: Callable[[str], str]) -> Iterator[str]:
    """Yields each failure with its first error: `head: it does not build: kernel/bpf/core.c:10: error: …`."""
    yield from dict.fromkeys(
        name_failure(f"{each.arm}: {each.message}", each.evidence, marked) for each in failures
    )


def name_failure(message: str, evidence: str, marked: Callable[[str], str] = str) -> str:
    """Adds to a message the first line of its evidence that names an error, if one does."""
    lines = (line.strip() for line in evidence.splitlines())
    error = next((line[:_LONGEST_ERROR] for line in lines if "error" in line.lower()), "")
    return f"{marked(message)}: {marked(error)}" if error else marked(message)
