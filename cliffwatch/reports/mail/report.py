"""The report as a mail, in the layout that kernel developers know from the 0-day robot.

Column widths are the widths of lkp-tests (lib/compare.rb): value 10, deviation 6, change 10. Deviations are
shown above 2 %. The robot does not report intervals, what could be seen, and inconclusive rows:
these are below the tables.
"""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from cliffwatch.comparing.attribution.blocks import TITLE, function_blocks, text_lines
from cliffwatch.comparing.comparison import (
    BETWEEN_MEASUREMENTS,
    CHANGES,
    DECIDED,
    ComparisonSet,
    SideFacts,
)
from cliffwatch.comparing.ordering import is_beyond_noise
from cliffwatch.comparing.sweeps.choice import sweep_lines
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.answer import REHEARSED, answer_set, word_of
from cliffwatch.reports.context import ReportContext, limitation, mode_words, trials
from cliffwatch.reports.legend import describe_threshold, legend
from cliffwatch.samples import is_rehearsal
from cliffwatch.shell_lines import break_commands

_SHORT = 10
_WIDTH = 89
_SHOWN_DEVIATION = 0.02


def mail_report(compared: ComparisonSet, context: ReportContext) -> str:
    """Writes a whole mail to the author of head: what changed since which commit, and how to repeat it."""
    lines = [*_headers(compared), "", *_opening(compared, context), ""]
    for failure in context.failures:
        lines += [*(f"  {line}" for line in failure.evidence.splitlines()[:20]), ""]
    lines += [*_facts(compared, context), ""]
    rows = [
        row
        for row in compared.primary_rows()
        if not context.failures or row.verdict not in ("failed", "missing")
    ]
    for suite, group in groupby(rows, key=lambda row: row.suite):
        lines += [*_table(suite, list(group), compared), ""]
    lines += [*_remarks(rows, compared, context)]
    return "\n".join(_printable(line).rstrip() for line in lines) + "\n"


def _headers(compared: ComparisonSet) -> Iterator[str]:
    author = compared.head.facts.get("author", "")
    if "@" in author:
        yield f"To: {author}"
    yield f"Subject: {mail_subject(compared)}"


def mail_subject(compared: ComparisonSet) -> str:
    """Returns the subject: the commit and its largest change."""
    worst = compared.headline()
    head = _name_side(compared.head)
    if worst is None:
        return f"[bpf] {head}: {answer_set(compared).result}"
    head = f"{head}: {REHEARSED.rstrip(': ')}" if is_rehearsal(compared.platform) else head
    if compared.took_turns or worst.assume == "exact":  # counted values do not drift
        return f"[bpf] {head}: {worst.case} {_size(worst)}"
    size = f"{figures.step(worst)} {worst.unit}" if worst.change is None else f"{worst.change:+.1%}"
    return f"[bpf] {head}: {worst.case} differs {BETWEEN_MEASUREMENTS}: {size}"


def _size(row: ComparisonRow) -> str:
    """Formats a change: `4.9% regression`, or `+4.9% change` if it is not known which way is better."""
    what = "change" if row.verdict == "changed" else row.verdict
    if row.change is None:
        return f"{figures.step(row)} {row.unit} {what}"
    return f"{row.change:+.1%} change" if row.verdict == "changed" else f"{abs(row.change):.1%} {row.verdict}"


def _opening(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    """Yields the answer, the commit that changed it and its parent, and the command that repeats it."""
    yield "Hello,"
    yield ""
    noticed = f"cliffwatch noticed: {answer_set(compared, context)}".rstrip(".")
    for text in (f"{noticed}.", *compared.warnings):
        yield from textwrap.wrap(text, _WIDTH, break_on_hyphens=False)
        yield ""
    yield from mail_sides(compared)
    if context.repeat:
        yield ""
        yield "to repeat:"
        yield from (f"  {line}" for line in break_commands(context.repeat).splitlines())


def mail_sides(compared: ComparisonSet) -> Iterator[str]:
    """Yields the commit and what it was compared with; of files, head and base."""
    of_commits = "commit" in compared.head.facts
    yield f"{'commit' if of_commits else 'head'}: {compared.head.label}"
    if author := compared.head.facts.get("author"):
        yield f"author: {author}"
    yield f"{'parent' if of_commits else 'base'}: {compared.base.label}"


def _facts(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    for text in context.chosen:
        yield from textwrap.wrap(text, _WIDTH)
    yield f"trials: {trials(compared.base, compared.head)}"
    yield f"mode: {mode_words(compared.mode, compared.platform)}"
    yield f"test machine: {compared.platform or 'unknown'}"
    for fact in context.setting:
        yield f"with: {fact}"


def _table(suite: str, rows: Sequence[ComparisonRow], compared: ComparisonSet) -> Iterator[str]:
    commits = [side.facts.get("commit", "") for side in (compared.base, compared.head)]
    yield "=" * 89
    yield f"testcase: {suite}"
    yield ""
    if all(commits):
        yield "commit:"
        yield from (f"  {commit[:_SHORT]}" for commit in commits)
        yield ""
    base, head = commits if all(commits) else ("base", "head")
    yield f"{base[:16]:<16} {head[:27]:<27}"
    yield f"{'-' * 16} {'-' * 27}"
    yield f"{'%stddev':>16}{'%change':>14}{'%stddev':>16}"
    yield f"{chr(92):>13}{'|':>14}{chr(92):>18}"
    for row in rows:
        yield _row(row)


def _row(row: ComparisonRow) -> str:
    unit = "" if row.metric == row.unit else f".{row.unit.replace(' ', '')}"
    name = f"{row.case} {row.metric}{unit}"
    if row.base is None or row.head is None or (row.change is None and row.verdict not in CHANGES):
        return f"{_value(row.base)}{'':6} {row.verdict:>12}  {_value(row.head)}{'':6}  {name}"
    ours, theirs = _deviation(row.base_spread), _deviation(row.head_spread)
    percent = figures.step(row) if row.change is None else f"{row.change * 100:+10.1f}%"
    change = f"{percent:>11}" if is_beyond_noise(row) else f"{'~':>11}"
    if row.verdict not in DECIDED:
        change = f"{figures.SIGNS[row.verdict]:>11}"
    return f"{_value(row.base)}{ours} {change}  {_value(row.head)}{theirs}  {name}"


def _deviation(spread: float | None) -> str:
    """Formats a deviation: ` ±  3%`, or blank if it is small."""
    return " " * 6 if spread is None or spread <= _SHOWN_DEVIATION else f" ±{100 * spread:3.0f}%"


def _value(number: float | None) -> str:
    if number is None:
        return f"{'-':>10}"
    if abs(number) > 1e8:
        return f"{number:10.4g}"
    if 0 < abs(number) < 1:
        return f"{figures.value(number):>10}"
    return f"{number:10.2f}" if abs(number) < 1000 else f"{number:10.0f}"


def _remarks(rows: Sequence[ComparisonRow], compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    changed = compared.changed_rows()
    named = figures.name_rows(rows)
    if changed:
        what = "Changes" if compared.took_turns else f"Differences {BETWEEN_MEASUREMENTS}"
        yield f"{what} with their intervals:"
        yield ""
        for row in changed:
            interval = "" if row.change is None else f" ({figures.interval(row)})"
            word = word_of([row], row.verdict)
            yield f"  {named[row.case, row.metric]}: {figures.change(row)}{interval}, {word}"
        yield ""
    yield from _functions(compared, context)
    if reach := figures.reach_words(rows):
        yield f"{reach[0].upper()}{reach[1:]}."
    yield from _of_rows(rows, compared)
    for line in sweep_lines(compared.sweeps):
        yield f"  {line.name}: {line.words}"
    yield ""
    if compared.control is not None:
        yield f"{figures.control(compared.control)}."
    if compared.mode is not None:
        yield f"{limitation(compared.mode, compared.platform)}."
    yield from legend(rows, compared.means)
    yield from context.notes


def _of_rows(rows: Sequence[ComparisonRow], compared: ComparisonSet) -> Iterator[str]:
    """Yields why rows are undecided, their notes, and thresholds other than the usual one."""
    for cases, row in figures.shared_reasons(rows):
        yield f"  {figures.shorten_names(cases)}: {figures.explain_inconclusive(row)}"
    for cases, note in figures.shared_notes(rows):
        yield f"  {figures.shorten_names(cases)}: {note}"
    named = figures.name_rows(rows)
    for row in rows:
        if terms := describe_threshold(row, compared.notable):
            yield f"  {named[row.case, row.metric]}: {terms}"


def _functions(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    blocks, left = (
        function_blocks(compared, context.functions, context.code) if context.functions else ((), 0)
    )
    if not blocks:
        return
    yield f"{TITLE}:"
    yield ""
    for block in blocks:
        yield from text_lines(block, width=_WIDTH)
    if left:
        yield f"  and {count_noun(left, 'more case')}"
    yield ""


def _name_side(side: SideFacts) -> str:
    """Returns the first digits of a commit, or the name of a file without its folder."""
    commit = side.facts.get("commit")
    return commit[:_SHORT] if commit else side.label.rsplit("/", 1)[-1]


def _printable(line: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in line)
