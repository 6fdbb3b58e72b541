"""Folded parts of a comment: failures, functions, environments, what could be seen and all rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, takewhile
from typing import Any

from cliffwatch.comparing.attribution.blocks import TITLE, function_blocks, text_lines
from cliffwatch.comparing.comparison import CHANGES
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.pull_request.news import News
from cliffwatch.pull_request.state import EarlierVersion, Failed, Measured, PullRequestState
from cliffwatch.pull_request.table import cell_text
from cliffwatch.pull_request.verdict import SHORT, pending_lines
from cliffwatch.reports import figures
from cliffwatch.reports.context import NO_CONTEXT, code_sentences, limitation, trials
from cliffwatch.reports.json_report import comparison_row
from cliffwatch.reports.markdown import block, code, length, one_line, word
from cliffwatch.reports.several.across import Across, across
from cliffwatch.reports.text import text_report
from cliffwatch.samples import CaseOutcome
from cliffwatch.shell_lines import WIDTH

_ERROR = re.compile(
    r"error[:\[]|fatal|undefined reference|no rule to make|BUG:|Oops|WARNING: |Kernel panic|general"
    r" protection",
    re.IGNORECASE,
)
_EVIDENCE_LINES = 12
_LISTED = 20
_REVISION_FACTS = frozenset({"commit", "tree", "subject", "revision", "release", "image", "kernel"})
"""Facts that differ between any two revisions: no environment differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A foldable part of a comment, in Markdown."""

    title: str
    """Contains no untrusted text."""
    lines: tuple[str, ...]
    open: bool = False
    """True if the part is unfolded at first."""

    def text(self) -> str:
        head = [f"<details{' open' if self.open else ''}>", f"<summary>{self.title}</summary>"]
        return "\n".join([*head, "", *_drop_last_blank(self.lines), "", "</details>"])


def _drop_last_blank(lines: tuple[str, ...]) -> tuple[str, ...]:
    return lines[:-1] if lines and not lines[-1] else lines


def functions(state: PullRequestState) -> Fold | None:
    """Lists the functions behind the changes, for targets that counted functions.

    Same lines as on a terminal.
    """
    lines: list[str] = []
    for each, progress in state.measured():
        context = progress.context
        blocks, left = (
            function_blocks(progress.compared, context.functions, context.code)
            if context.functions
            else ((), 0)
        )
        if not blocks:
            continue
        text = [line for found in blocks for line in text_lines(found, indent="")]
        lines += [f"{word(each.platform)} {each.mode}:", "", *block("\n".join(text), lines=len(text)), ""]
        lines += [f"{count_noun(left, 'more case')} not shown here.", ""] if left else []
    return Fold(title=TITLE, lines=tuple(lines)) if lines else None


def failures(state: PullRequestState) -> Fold | None:
    """Lists failures with their first error. Unfolded if no target reports a change."""
    lines: list[str] = []
    for failure, names in _failed_targets(state).items():
        lines += _failure(", ".join(map(word, names)), failure.message, failure.evidence)
        lines += [one_line(f"Next: {code(failure.next_step)}"), ""] if failure.next_step else []
    measured = state.measured()
    for each, progress in measured:
        for of_arm in progress.context.failures:
            lines += _failure(
                f"{word(each.platform)} {each.mode}", f"{of_arm.arm}: {of_arm.message}", of_arm.evidence
            )
        lines += _failed_rows(progress)
    if not lines:
        return None
    return Fold(
        title="Failures",
        lines=tuple(lines),
        open=not any(each.compared.changed_rows() for _, each in measured),
    )


def _failed_targets(state: PullRequestState) -> dict[Failure, list[str]]:
    """Groups the names of failed targets by failure."""
    failed: dict[Failure, list[str]] = {}
    for name, progress in pending_lines(state):
        if isinstance(progress, Failed):
            failed.setdefault(progress.failure, []).append(name)
    return failed


def _failure(where: str, message: str, evidence: str) -> list[str]:
    shown = [*block(first_error(evidence), lines=_EVIDENCE_LINES), ""] if evidence.strip() else []
    return [one_line(f"{where}: {code(message)}"), "", *shown]


def first_error(evidence: str) -> str:
    """Cuts a log to start at the line before its first error.

    Returns the whole log if no line looks like an error.
    """
    lines = evidence.splitlines()
    index = next((index for index, line in enumerate(lines) if _ERROR.search(line)), 0)
    return "\n".join(lines[max(0, index - 1) :])


def _failed_rows(progress: Measured) -> list[str]:
    """Lists cases that could not be compared, grouped by reason.

    Leaves out cases that failed with their whole arm.
    """
    rows = [
        row for row in progress.compared.primary_rows() if row.verdict in ("failed", "missing", "invalid")
    ]
    if progress.context.failures:
        rows = [row for row in rows if row.verdict == "invalid"]
    reasons: dict[tuple[str, str], list[ComparisonRow]] = {}
    for row in rows:
        reasons.setdefault((row.verdict, row.reason), []).append(row)
    lines = []
    for (verdict, reason), group in list(reasons.items())[:_LISTED]:
        cases = {row.case for row in group}
        which = code(str(group[0].case)) if len(cases) == 1 else count_noun(len(cases), "case")
        lines.append(one_line(f"{which}: {verdict}{', ' + code(reason, 300) if reason else ''}", first="- "))
    return [*lines, *_more(len(reasons) - _LISTED, "reason")]


def _more(left: int, what: str) -> list[str]:
    return [f"- and {count_noun(left, f'more {what}')}"] if left > 0 else []


def environments(state: PullRequestState) -> Fold | None:
    """Lists each target's environment, and the differences between base and head in environment and code."""
    lines: list[str] = []
    for each, progress in state.measured():
        compared = progress.compared
        facts = ", ".join(
            [trials(compared.base, compared.head), *(code(fact) for fact in progress.context.setting)]
        )
        lines += [one_line(f"{word(each.platform)} {each.mode}: {facts}", first="- ")]
        lines += [one_line(f"differs: {text}", first="  - ") for text in _differences(progress)]
        sentences = code_sentences(compared, progress.context)
        lines += [one_line(code(sentence, 600), first="  - ") for sentence in sentences]
        lines += [one_line(code(note, 300), first="  - ") for note in progress.context.notes[:_LISTED]]
    return Fold(title="Environment", lines=tuple(lines)) if lines else None


def _differences(progress: Measured) -> Iterator[str]:
    base, head = progress.compared.base.facts, progress.compared.head.facts
    for name in sorted((base.keys() & head.keys()) - _REVISION_FACTS):
        if base[name] != head[name]:
            yield f"{code(name, 40)} {code(base[name], 80)} → {code(head[name], 80)}"


def limitations(state: PullRequestState) -> Fold | None:
    """Lists what could be seen, inconclusive rows, left-out cases and the limitations of the mode."""
    lines: list[str] = []
    for each, progress in state.measured():
        lines.append(
            one_line(f"{word(each.platform)} {each.mode}: {_describe_limitations(progress)}", first="- ")
        )
        shared = figures.shared_reasons(progress.compared.primary_rows())
        still_open = [(names, row) for names, row in shared if row.verdict == "inconclusive"]
        lines += [one_line(_describe_inconclusive(*each), first="  - ") for each in still_open[:_LISTED]]
        lines += [
            f"  {line}"
            for line in _more(sum(len(names) for names, _ in still_open[_LISTED:]), "inconclusive case")
        ]
        left_out = sorted(progress.compared.left_out, key=_why_left_out)
        for (why, reason), cases in groupby(left_out, key=_why_left_out):
            lines.append(
                one_line(f"{count_noun(len(list(cases)), 'case')} {why}: {code(reason)}", first="  - ")
            )
    return Fold(title="What could not be seen", lines=tuple(lines)) if lines else None


def _why_left_out(outcome: CaseOutcome) -> tuple[str, str]:
    return "unchanged build" if outcome.status == "unchanged-build" else "not run", outcome.reason


def _describe_inconclusive(names: Sequence[str], row: ComparisonRow) -> str:
    return (
        f"{figures.shorten_names(names, code)}:"
        f" {figures.mark_verdict(row.verdict)}{', ' + code(row.reason) if row.reason else ''}"
    )


def _describe_limitations(progress: Measured) -> str:
    compared = progress.compared
    words = [limitation(compared.mode, compared.platform)] if compared.mode is not None else []
    if reach := figures.reach_words(compared.primary_rows()):
        words.insert(0, reach)
    return ". ".join(f"{each[0].upper()}{each[1:]}" for each in words) + "."


def everything(progress: Measured, name: str, room: int) -> Fold | None:
    """Returns a target's report as on a terminal, cut to `room` characters.

    If it is cut, changed rows come first.

    Returns None if there are no rows or hardly any room.
    """
    compared = progress.compared
    rows = compared.primary_rows()
    room -= 300
    if not rows or room < 1000:
        return None
    text = text_report(compared, NO_CONTEXT, colour=False, width=WIDTH)
    if length(text) > room:
        changed = [row for row in rows if row.verdict in CHANGES]
        others = [row for row in rows if row.verdict not in CHANGES]
        text = text_report(replace(compared, rows=(*changed, *others)), NO_CONTEXT, colour=False, width=WIDTH)
    title = f"Full results on {name}: {count_noun(len({row.case for row in rows}), 'case')}"
    return Fold(title=title, lines=tuple(block(text, lines=_fitting(text, room))))


def _fitting(text: str, room: int) -> int:
    """Returns how many lines fit."""
    sizes = accumulate(length(line) + 1 for line in text.splitlines())
    return sum(1 for _ in takewhile(lambda size: size <= room, sizes))


def compare_with_earlier(state: PullRequestState, news: News) -> tuple[str, Fold] | None:
    """Compares a series with its earlier version.

    Returns a sentence and a table of rows that changed in either.
    """
    earlier = state.earlier
    if earlier is None or not news.measured:
        return None
    before = _rows_of_earlier(state, earlier)
    now = {_key(row): row for row in news.rows}
    words = [f"{count:,} {what}" for what, count in _count_fates(before, now).items()]
    version = f"v{earlier.version} ({code(earlier.head[:SHORT])})"
    sentence = one_line(f"Regressions beside {version}: {', '.join(words) or 'none in either'}.")
    shown = [
        key for key in now if key in before and set(CHANGES) & (_verdicts(before[key]) | _verdicts(now[key]))
    ]
    heads = " | ".join(["case", *(word(target.name) for target in news.targets)])
    lines = [heads, "|".join("---" for _ in range(len(news.targets) + 1))]
    for key in shown[:100]:
        cells = (
            f"{_short(old)} → {_short(new)}"
            for old, new in zip(before[key].cells, now[key].cells, strict=True)
        )
        lines.append(
            " | ".join([code("/".join([key[1], *(f"{name}={value}" for name, value in key[2])])), *cells])
        )
    lines += ["", *_more(len(shown) - 100, "case")]
    return sentence, Fold(
        title=f"v{earlier.version} → v{state.series.version if state.series else earlier.version + 1}",
        lines=tuple(lines),
    )


def _count_fates(before: Mapping[Any, Across], now: Mapping[Any, Across]) -> dict[str, int]:
    """Counts the regressions of both versions by fate.

    A regression is gone only if this version measured its absence.
    """
    fates: dict[str, int] = {}
    for key in dict.fromkeys([*before, *now]):
        then, since = (_verdicts(rows[key]) if key in rows else set[str]() for rows in (before, now))
        if "regression" not in then | since:
            continue
        if "regression" in since:
            fate = "still there" if "regression" in then else "new" if then else "not measured before"
        else:
            fate = "gone" if since and since <= {"unchanged", "improvement"} else "open"
        fates[fate] = fates.get(fate, 0) + 1
    return fates


def _rows_of_earlier(state: PullRequestState, earlier: EarlierVersion) -> Mapping[Any, Across]:
    compared = [earlier.compared.get((each.platform, each.mode)) for each, _ in state.measured()]
    rows = [
        [comparison_row(row) for row in each.primary_rows()] if each is not None else [] for each in compared
    ]
    return {_key(row): row for row in across(rows)}


def _key(row: Across) -> tuple[str, str, tuple[tuple[str, str], ...], str]:
    return row.suite, row.benchmark, tuple(row.params.items()), row.metric


def _verdicts(row: Across) -> set[str]:
    return {cell.verdict for cell in row.cells if cell is not None}


def _short(cell: ComparisonRow | None) -> str:
    return cell_text(cell).partition(" [")[0]


def drop_empty(folds: Sequence[Fold | None]) -> list[Fold]:
    return [fold for fold in folds if fold is not None]
