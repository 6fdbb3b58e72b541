"""The report for a pull request: changes first, all other rows folded.

Also makes untrusted text safe in Markdown.

Untrusted text is written as code. In code, GitHub creates no mentions, references, links, emoji, formulas or
elements.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from cliffwatch.comparing.attribution.blocks import TITLE, function_blocks, more_cases
from cliffwatch.comparing.attribution.profiles import PROFILE_TITLE
from cliffwatch.comparing.comparison import CHANGES, ComparisonSet
from cliffwatch.comparing.sweeps.choice import sweep_lines
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.answer import answer_set
from cliffwatch.reports.context import (
    ReportContext,
    code_sentences,
    describe_measurement,
    limitation,
    profiles,
)
from cliffwatch.reports.groups import RowGroup, cell_of, group_rows
from cliffwatch.reports.legend import legend, thresholds_differ
from cliffwatch.reports.styles import plain, visible

_WORD = re.compile(r"(?!.*\bGH-)[A-Za-z][A-Za-z0-9 /%-]{0,39}", re.IGNORECASE)
_HEXADECIMAL = re.compile(r"[0-9a-f]{7}", re.IGNORECASE)
_COMMAND = re.compile(r"^([^\S\n]*+):(?=:)|##(?=\[)", re.MULTILINE)
_BACKTICKS = re.compile(r"`+")
_BETWEEN = "\N{ZERO WIDTH SPACE}"
_ESCAPED = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_{}[]#|~"} | {"<": "&lt;", ">": "&gt;"}
)
LONGEST = 60_000
"""Maximum number of characters. GitHub allows 65,536 in a comment and 65,535 in a check run's summary."""


def markdown_report(compared: ComparisonSet, context: ReportContext) -> str:
    """Writes the report in about `LONGEST` characters.

    Rows that do not fit are only counted; changed rows are kept.
    """
    answer = answer_set(compared, context, mark)
    lines = [f"### {answer.heading}", "", *([answer.below, ""] if answer.below else [])]
    lines += [line for warning in compared.warnings for line in (f"**{escape_markdown(warning)}**", "")]
    for failure in context.failures:
        lines += [f"{code(failure.arm)}: {code(failure.message)}", "", *block(failure.evidence, lines=30), ""]
    rows = compared.primary_rows()
    listed = [row for row in rows if not context.failures or row.verdict not in ("failed", "missing")]
    for group in group_rows(
        [row for row in listed if row.verdict in CHANGES],
        all_metrics=True,
        thresholds=thresholds_differ(rows),
    ):
        lines += [*_table(group), ""]
    lines += [
        f"- {figures.shorten_names(cases, code)}: {escape_markdown(figures.explain_inconclusive(row))}"
        for cases, row in figures.shared_reasons(listed)
    ]
    lines += [
        f"- {figures.shorten_names(cases, code)}: {escape_markdown(note)}"
        for cases, note in figures.shared_notes(listed)
    ]
    lines += [f"- {code(line.name)}: {escape_markdown(line.words)}" for line in sweep_lines(compared.sweeps)]
    lines += ["", *_functions(compared, context), *_profiles(compared, context), *_footer(compared, context)]
    return inert(_fold_rows("\n".join(lines), compared.table_rows()))


def chosen_lines(chosen: Sequence[str]) -> Iterator[str]:
    """Yields a paragraph for each sentence on the chosen commits and suites."""
    for text in chosen:
        yield from (code(text), "")


def _table(group: RowGroup) -> Iterator[str]:
    """Yields a sentence on what all rows share, and a table of the rows."""
    title = f"**{group.title}**" if group.verdict in CHANGES else group.title
    measure = f", {escape_markdown(group.measure)}" if group.measure else ""
    yield f"{title}: {mark(group.suite)}{measure}{escape_markdown(group.shared)}"
    yield ""
    heads = ("case", "base", "head", "change", *group.columns)
    yield f"| {' | '.join(heads)} |"
    yield f"|---|{'--:|' * (len(heads) - 1)}"
    for row in group.listed.rows:
        cells = (
            code(figures.case_name(row.case, row.metric)),
            figures.value(row.base),
            figures.value(row.head),
            figures.signed_change(row).replace("~", "\\~"),
            *(cell_of(column, row) for column in group.columns),
        )
        yield f"| {' | '.join(cells)} |"


def _functions(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    """Yields a fold with one table of functions per case."""
    blocks, left = (
        function_blocks(compared, context.functions, context.code) if context.functions else ((), 0)
    )
    if not blocks:
        return
    yield f"<details><summary>{TITLE}</summary>"
    for each in blocks:
        yield ""
        yield f"{code(each.case)}: {escape_markdown(each.sentence)}"
        yield ""
        yield "| function | base | head | change | |"
        yield "|---|--:|--:|--:|---|"
        for row in each.rows:
            yield (
                f"| {code(row.name)} | {row.base} | {row.head} | {row.change} |"
                f" {escape_markdown(row.about)} |"
            )
        if each.rest:
            yield ""
            yield escape_markdown(each.rest)
        if each.also:
            yield ""
            yield escape_markdown(_capital(each.also))
    yield ""
    if left:
        yield f"{escape_markdown(more_cases(left))}  "
    yield "</details>"
    yield ""


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _profiles(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    """Yields a fold with the same lines as on a terminal."""
    lines = profiles(compared, context)
    if lines:
        yield f"<details><summary>{PROFILE_TITLE}</summary>"
        yield ""
        yield from block("\n".join(lines), lines=100)
        yield ""
        yield "</details>"
        yield ""


def _footer(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    for mean in compared.means:
        yield (
            f"Geometric mean of {escape_markdown(mean.metric)}: {figures.mean(mean)} over"
            f" {count_noun(mean.rows, 'row')}.  "
        )
    yield f"{code(compared.base.label)} → {code(compared.head.label)}  "
    yield f"{escape_markdown(describe_measurement(compared, context))}  "
    yield from (f"{code(text)}  " for text in context.chosen)
    if compared.control is not None:
        yield f"{figures.control(compared.control)}.  "
    if compared.mode is not None:
        yield f"{limitation(compared.mode, compared.platform)}.  "
    for line in (*code_sentences(compared, context), *legend(compared.primary_rows(), compared.means)):
        yield f"{escape_markdown(line)}  "
    for note in context.notes:
        yield f"{escape_markdown(note)}  "


def _fold_rows(text: str, rows: Sequence[ComparisonRow]) -> str:
    """Appends all rows in folds, one per suite, as long as there is room."""
    parts, left, differ = [text], 0, thresholds_differ(rows)
    room = LONGEST - length(text)
    for suite, group in groupby(rows, key=lambda row: row.suite):
        of_suite = list(group)
        tables = group_rows(of_suite, all_metrics=True, thresholds=differ)
        body = "\n\n".join("\n".join(_table(each)) for each in tables)
        part = (
            f"\n<details><summary><code>{escape(suite)}</code>:"
            f" {count_noun(len({row.case for row in of_suite}), 'case')}</summary>\n\n{body}\n\n</details>"
        )
        if length(part) > room:
            left += len({row.case for row in of_suite})
            continue
        room -= length(part)
        parts.append(part)
    if left:
        parts.append(f"\n{count_noun(left, 'more case does', 'more cases do')} not fit here.")
    return "\n".join(parts)[: LONGEST + 1000] + "\n"


def escape_markdown(text: str) -> str:
    """Escapes a text so that nothing in it becomes markup, a mention, a reference or a link."""
    text = " ".join(text.translate(_ESCAPED).split())
    for start, rest in (("@", ""), ("\\#", ""), (":", "//"), ("www", "."), ("GH", "-")):
        text = text.replace(f"{start}{rest}", f"{start}\N{ZERO WIDTH SPACE}{rest}")
    return text


def code(text: str, most: int = 200) -> str:
    """Formats a text as one line of code of at most `most` characters; `?` if it is empty.

    Replaces backticks, bars and line breaks, so that the code stays whole in a table and when it is wrapped.
    """
    line = _printable(" ".join(text.split())).replace("`", "'").replace("|", "¦")
    shortened = line if len(line) <= most else f"{line[: most - 1]}…"
    return f"`{shortened.strip() or '?'}`"


def _printable(line: str) -> str:
    """Replaces characters of a line that cannot be printed or encoded, such as lone surrogates."""
    return plain(line.encode("utf-8", "replace").decode())


def word(text: str) -> str:
    """Formats a unit or the name of a metric or target: plain if it is a harmless word, else as code."""
    harmless = _WORD.fullmatch(text) and not _HEXADECIMAL.search(text) and not text.endswith(" ")
    return text if harmless else code(text, 60)


def block(text: str, *, lines: int, columns: int = 400, language: str = "") -> list[str]:
    """Fences lines of code so that no line can end the fence. Counts the lines that are cut off."""
    shown = [_printable(line.expandtabs())[:columns].rstrip() for line in text.splitlines()]
    left = len(shown) - lines
    shown = shown[:lines] + ([f"… {left:,} more lines"] if left > 0 else [])
    longest = max((len(run) for run in _BACKTICKS.findall("\n".join(shown))), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *shown, fence]


def mark(text: str) -> str:
    """Formats a name or an error inside a sentence: plain if it is a harmless word, else as code."""
    return text if word(text) == text else code(text, 300)


def one_line(text: str, first: str = "") -> str:
    """Joins sentences to one line after `first`: GitHub shows every line break inside a paragraph."""
    return f"{first}{' '.join(text.split())}"


def inert(markdown: str) -> str:
    """Replaces invisible characters of a report, and disarms lines that are commands in a workflow log."""
    shown = visible(markdown.encode("utf-8", "replace").decode())
    return _COMMAND.sub(lambda match: (f"{match[1]}:" if match[1] is not None else "##") + _BETWEEN, shown)


def length(text: str) -> int:
    """Returns the length in UTF-16 units: the upper bound of GitHub's own count of characters."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
