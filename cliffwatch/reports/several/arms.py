"""Reports on several arms, each against the first arm: a matrix of all arms, then a report per arm."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape

from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.reports import figures
from cliffwatch.reports.answer import answer_set
from cliffwatch.reports.commit import commit_report, cut
from cliffwatch.reports.context import ReportContext, shared_warnings, without_shared_warnings
from cliffwatch.reports.markdown import chosen_lines, code, escape_markdown, mark, markdown_report, word
from cliffwatch.reports.several.matrix import arm_names, cell, matrix, matrix_lines
from cliffwatch.reports.styles import Styles, plain, visible
from cliffwatch.reports.text import text_report
from cliffwatch.shell_lines import WIDTH


def text_of_arms(
    compared: Sequence[ComparisonSet],
    context: ReportContext,
    *,
    colour: bool,
    width: int = 120,
    all_metrics: bool,
) -> str:
    """Writes the report for a terminal. Notes on the whole run come last."""
    styles = Styles(colour=colour)
    names = [plain(name) for name in arm_names(compared)]
    room = max(map(len, names))
    lines = [plain(line) for text in context.chosen for line in textwrap.wrap(text, width)]
    lines.append(styles("strong", f"{len(names)} arms, each against {names[0]}"))
    for warning in shared_warnings(compared):
        lines += [
            styles("doubt", plain(line)) for line in textwrap.wrap(warning, width, break_on_hyphens=False)
        ]
    lines.append(f"  {names[0]:<{room}}  {plain(compared[0].base.label)}")
    for name, each in zip(names[1:], compared, strict=True):
        lines += [
            f"  {name:<{room}}  {plain(each.head.label)}",
            f"  {'':<{room}}  {plain(_answer(each, context, str))}",
        ]
    lines += matrix_lines(compared, all_metrics=all_metrics)
    parts = ["\n".join(lines) + "\n"]
    for index, each in enumerate(without_shared_warnings(compared)):
        about = _context_of_arm(each, context, first=index == 0, last=index == len(compared) - 1)
        sides = (each.base.name, each.head.name)
        body = text_report(each, about, colour=colour, width=width, all_metrics=all_metrics, names=sides)
        parts.append(f"{styles('strong', _title(each))}\n{body}")
    return "\n".join(parts)


def markdown_of_arms(compared: Sequence[ComparisonSet], context: ReportContext) -> str:
    """Writes the report for a pull request: the matrix, then a folded report per arm."""
    base, *heads = arm_names(compared)
    lines = [f"### {len(heads) + 1} arms, each against {code(base)}", "", *chosen_lines(context.chosen)]
    lines += [
        line for warning in shared_warnings(compared) for line in (f"**{escape_markdown(warning)}**", "")
    ]
    lines += [
        f"- {code(each.head.name)}: {code(each.head.label)}: {_answer(each, context, mark)}"
        for each in compared
    ]
    lines += ["", f"| case | {code(base)} | unit | {' | '.join(map(code, heads))} |"]
    lines.append(f"|---|--:|---|{'--:|' * len(heads)}")
    for row in matrix(compared):
        cells = (cell(each).replace("~", "\\~") for each in row.cells)
        lines.append(
            f"| {code(figures.case_name(row.case, row.metric))} | {figures.value(row.base)} |"
            f" {word(row.unit)} | {' | '.join(cells)} |"
        )
    parts = ["\n".join(lines)]
    for index, each in enumerate(without_shared_warnings(compared)):
        about = _context_of_arm(each, context, first=index == 0, last=index == len(compared) - 1)
        body = markdown_report(each, about)
        summary = (
            f"<summary><code>{escape(plain(each.head.name))}</code> against"
            f" <code>{escape(plain(base))}</code></summary>"
        )
        parts.append(f"\n<details>{summary}\n\n{body}\n</details>")
    return "\n".join(parts) + "\n"


def commit_of_arms(compared: Sequence[ComparisonSet], context: ReportContext) -> str:
    """Writes the report for a commit message: the matrix, then a block per arm."""
    names = [plain(name) for name in arm_names(compared)]
    room = max(map(len, names))
    labels = (compared[0].base.label, *(each.head.label for each in compared))
    lines = [f"{len(names)} arms, each against {names[0]}:"]
    lines += [line for text in context.chosen for line in textwrap.wrap(text, WIDTH)]
    lines += [
        line
        for warning in shared_warnings(compared)
        for line in textwrap.wrap(warning, WIDTH, break_on_hyphens=False)
    ]
    lines += [f"  {name:<{room}}  {plain(label)}" for name, label in zip(names, labels, strict=True)]
    blocks = ["\n".join(cut(line) for line in (*lines, *_narrow_matrix(compared))) + "\n"]
    for index, each in enumerate(without_shared_warnings(compared)):
        about = _context_of_arm(each, context, first=index == 0, last=index == len(compared) - 1)
        blocks.append(f"{visible(_title(each))}:\n{commit_report(each, about)}")
    return "\n".join(blocks)


def _narrow_matrix(compared: Sequence[ComparisonSet]) -> list[str]:
    """Splits the matrix into tables with as many arms as fit the width."""
    for arms in range(len(compared), 0, -1):
        groups = (compared[first : first + arms] for first in range(0, len(compared), arms))
        lines = [line for group in groups for line in matrix_lines(group, all_metrics=False)]
        if all(len(line) <= WIDTH for line in lines):
            return lines
    return lines


def _answer(each: ComparisonSet, context: ReportContext, marked: Callable[[str], str]) -> str:
    own = _context_of_arm(each, context, first=True, last=False)
    return answer_set(each, own, marked).heading


def _title(each: ComparisonSet) -> str:
    return plain(f"{each.head.name} against {each.base.name}")


def _context_of_arm(each: ComparisonSet, context: ReportContext, *, first: bool, last: bool) -> ReportContext:
    """Returns the context for the report of one arm.

    It has the failures of the arm. The first arm also gets the failures of base; the last arm gets notes and
    folder.
    """
    names = {each.head.name, each.base.name} if first else {each.head.name}
    return replace(
        context,
        chosen=(),
        failures=tuple(failure for failure in context.failures if failure.arm in names),
        notes=context.notes if last else (),
        folder=context.folder if last else None,
    )
