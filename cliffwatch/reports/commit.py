"""The report for a commit message: at most 72 columns and 30 lines.

Has what a reviewer asks for: the answer, the changed rows before and after with their geometric mean, the
functions behind them, how it was measured, and the command that repeats it.
"""

import textwrap
from collections.abc import Iterator, Sequence

from cliffwatch.comparing.attribution.blocks import function_blocks
from cliffwatch.comparing.comparison import TROUBLED, ComparisonSet, size_of
from cliffwatch.comparing.sweeps.choice import sweep_lines
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.answer import answer_set
from cliffwatch.reports.context import ReportContext, describe_measurement
from cliffwatch.reports.legend import placement_sentences
from cliffwatch.reports.styles import visible
from cliffwatch.shell_lines import WIDTH, break_commands

MOST_LINES = 30
_LEAST_ROWS = 6
"""Lines of the table that are kept whatever else there is to say."""

_NAME = 38
_FUNCTIONS = 3
_NOTES = 3
"""Most notes on rows."""


def commit_report(compared: ComparisonSet, context: ReportContext) -> str:
    """Writes the report. Without a change it is the answer, and how it was measured."""
    above = [*_wrap_lines(f"{answer_set(compared, context)}".rstrip(".") + ".")]
    for text in (*compared.warnings, *context.chosen):
        above += _wrap_lines(text)
    measured = _measured(compared, context)
    for cases, row in figures.shared_reasons(compared.primary_rows()):
        if row.verdict in TROUBLED and row.reason and not context.failures:
            above += _wrap_lines(f"{figures.shorten_names(cases)}: {row.verdict}: {row.reason}.")
    changed = compared.changed_rows()
    if not changed:
        functions = list(_functions(compared, context))
        return _write([*above, *(["", *functions] if functions else []), *measured])
    unjudged = [row for row in changed if row.verdict == "changed"]
    if unjudged:
        above += _wrap_lines(f"For {count_noun(len(unjudged), 'change')} nobody said which way is better.")
    placed = [line for text in placement_sentences(changed) for line in _wrap_lines(text)]
    noted = [
        line
        for cases, note in figures.shared_notes(changed)[:_NOTES]
        for line in _wrap_lines(f"{figures.shorten_names(cases)}: {note}.")
    ]
    below = ["", *_functions(compared, context), *_curves(compared), *placed, *noted, *measured]
    if context.repeat:
        below += ["", *(cut(f"  {line}") for line in break_commands(context.repeat, WIDTH - 2).splitlines())]
    means = _wrap_lines(_mean(compared)) if compared.means else []
    room = max(_LEAST_ROWS, MOST_LINES - len(above) - len(below) - len(means) - 1)
    return _write([*above, "", *_table(changed, room), *means, *below][:MOST_LINES])


def _measured(compared: ComparisonSet, context: ReportContext) -> list[str]:
    """Returns how it was measured, and the check of base against itself."""
    sentences = [_capital(describe_measurement(compared, context))]
    if compared.control is not None:
        sentences.append(_capital(figures.control(compared.control)))
    return [line for sentence in sentences for line in _wrap_lines(f"{sentence.rstrip('.')}.")]


def _write(lines: Sequence[str]) -> str:
    return visible("\n".join(line.rstrip() for line in lines) + "\n")


def _table(rows: Sequence[ComparisonRow], room: int) -> list[str]:
    """Returns the rows in at most `room` lines. Without room for all, the largest changes."""
    for count in range(len(rows), 0, -1):
        kept = set(map(id, sorted(rows, key=lambda row: -size_of(row))[:count]))
        lines = list(_rows([row for row in rows if id(row) in kept]))
        left = len(rows) - count
        if left:
            lines.append(f"and {count_noun(left, 'smaller change')}")
        if len(lines) <= room or count == 1:
            break
    return lines


def _rows(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """Yields a heading per metric, a line per benchmark and a line per row."""
    by_metric: dict[str, dict[str, list[ComparisonRow]]] = {}
    for row in rows:
        measure = figures.measure(row.metric, row.unit, row.better)
        by_metric.setdefault(measure, {}).setdefault(row.case.benchmark, []).append(row)
    for measure, by_benchmark in by_metric.items():
        yield cut(f"{_short(measure, _NAME):<{_NAME}}{'before':>11}{'after':>11} {'change':>11}")
        for benchmark, same in by_benchmark.items():
            name = f"{benchmark} {figures.parameters(same[0].case, '')}"
            if len(same) == 1 and len(name) < _NAME:
                yield _row(same[0], name)
                continue
            yield cut(benchmark)
            yield from (_row(row, f"  {figures.parameters(row.case, '')}") for row in same)


def _row(row: ComparisonRow, name: str) -> str:
    change = figures.change(row).replace(" ", "")
    return cut(f"{_short(name, _NAME):<{_NAME}}{_fits(row.base)}{_fits(row.head)} {change:>11}")


def _fits(number: float | None) -> str:
    text = figures.value(number)
    return f"{text if len(text) <= 10 or number is None else f'{number:.4g}':>11}"


def _mean(compared: ComparisonSet) -> str:
    """Returns the geometric mean over all rows that both sides have, changed or not."""
    texts = [
        f"{mean.metric} {figures.percent(mean.change).replace(' ', '')} ({count_noun(mean.rows, 'row')})"
        for mean in compared.means
    ]
    return f"geomean: {', '.join(texts)}"


def _functions(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    """Yields the functions that the largest change is in, in instructions per operation."""
    if not context.functions:
        return
    blocks, _ = function_blocks(compared, context.functions, context.code, most=1, each=_FUNCTIONS)
    for block in blocks[:1]:
        if block.hidden:
            yield from _wrap_lines(f"{block.case}: {block.sentence}")
        if block.rows:
            yield cut(f"{'instructions per operation':<{_NAME}}{'before':>11}{'after':>11} {'change':>11}")
        for row in block.rows:
            yield cut(
                f"  {_short(row.name, _NAME - 2):<{_NAME - 2}}{row.base:>11}{row.head:>11} {row.change:>11}"
            )
        yield ""


def _curves(compared: ComparisonSet) -> Iterator[str]:
    for line in sweep_lines(compared.sweeps):
        yield from _wrap_lines(f"{line.name}: {line.words}.")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _wrap_lines(text: str) -> list[str]:
    return [cut(line) for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False)]


def _short(text: str, width: int) -> str:
    return text if len(text) < width else text[: width - 2] + "… "


def cut(line: str) -> str:
    """Cuts a line to the width of a commit message and replaces unprintable characters."""
    printable = "".join(character if character.isprintable() else "?" for character in line)
    return printable if len(printable) <= WIDTH else printable[: WIDTH - 1] + "…"
