"""Writes the report for a terminal."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from cliffwatch.comparing.attribution.blocks import TITLE, function_blocks, more_cases, text_lines
from cliffwatch.comparing.attribution.profiles import PROFILE_TITLE
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.ordering import is_beyond_noise, is_likely
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
from cliffwatch.reports.styles import Styles, plain

_STYLES: dict[str, str] = {
    "regression": "worse",
    "improvement": "better",
    "changed": "strong",
    "failed": "worse",
    "missing": "doubt",
    "invalid": "doubt",
}
_NARROW = 4
"""Columns of the first line, if a row needs two lines: name, base, head and change."""

_LEAST_NAME = 24
_BAREST_NAME = 12
_FAILURE_LINES = 30

Cell = tuple[str, str | None]
"""A text and the name of its style."""


def text_report(
    compared: ComparisonSet,
    context: ReportContext,
    *,
    colour: bool,
    width: int = 120,
    all_metrics: bool = False,
    names: tuple[str, str] = ("base", "head"),
) -> str:
    """Writes the report with tables of at most `width` columns. `names` are the names of the two sides."""
    styles = Styles(colour=colour)
    rows = compared.rows if all_metrics else compared.table_rows()
    answer = answer_set(compared, context)
    lines = [styles("strong", plain(answer.heading)), *_wrap(answer.below, width)]
    for warning in compared.warnings:
        lines += [styles("doubt", line) for line in _wrap(warning, width)]
    lines += _failures(context, styles)
    listed = [row for row in rows if not context.failures or row.verdict not in ("failed", "missing")]
    for group in group_rows(listed, all_metrics=all_metrics, thresholds=thresholds_differ(rows)):
        lines += ["", *_table(group, styles, width, names)]
    lines += _explanations(listed)
    lines += _without_value(rows, listed)
    lines += _sweeps(compared)
    lines += _functions(compared, context)
    lines += _profiles(compared, context)
    lines += _describe_left_out(compared, styles)
    lines += ["", *_means(compared), *_about(compared, context, names)]
    for sentence in (*context.chosen, *_method(compared, rows, context)):
        lines.append(styles("quiet", plain(sentence)))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _wrap(text: str, width: int) -> list[str]:
    return [plain(line) for line in textwrap.wrap(text, width, break_on_hyphens=False)]


def _failures(context: ReportContext, styles: Styles) -> Iterator[str]:
    for failure in context.failures:
        yield ""
        yield styles("worse", plain(f"{failure.arm}: {failure.message}"))
        for line in failure.evidence.splitlines()[:_FAILURE_LINES]:
            yield f"    {plain(line)}"


def _about(compared: ComparisonSet, context: ReportContext, names: tuple[str, str]) -> Iterator[str]:
    room = max(map(len, names))
    for name, side in zip(names, (compared.base, compared.head), strict=True):
        yield f"  {plain(name):<{room}}  {plain(side.label)}"
    yield f"  {plain(describe_measurement(compared, context))}"


def _table(group: RowGroup, styles: Styles, width: int, names: tuple[str, str]) -> Iterator[str]:
    """Yields a heading with what all rows share, then one line per row, or two if the columns do not fit."""
    style = _STYLES.get(group.verdict)
    about = f"{group.suite}, {group.measure}{group.shared}".replace(", ;", ";")
    title, *rest = textwrap.wrap(f"{group.title}: {plain(about)}", width, break_on_hyphens=False)
    marked = title.removeprefix(group.title)
    yield f"{styles(style, group.title) if style else group.title}{marked}"
    yield from rest
    if group.listed.rows:
        yield from _rows(group, styles, width, names)
    if group.listed.others:
        yield styles("quiet", f"  {group.listed.others}")


def _rows(group: RowGroup, styles: Styles, width: int, names: tuple[str, str]) -> Iterator[str]:
    heads = ("", *map(plain, names), "change", *group.columns)
    lines: list[tuple[Cell, ...]] = [tuple((head, "quiet") for head in heads)]
    for title, same in groupby(group.listed.rows, key=_title):
        lines.append(((f"  {plain(title)}", None),))
        lines += [_cells(row, group.columns) for row in same]
    widths = _widths(lines, len(heads), width)
    narrow = widths[0] < min(_LEAST_NAME, max(len(line[0][0]) for line in lines if len(line) > 1))
    if narrow:
        widths = _widths(lines, _NARROW, width)
    for line in lines:
        if len(line) == 1:
            yield _padded(line[0], width, styles, right=False)
            continue
        yield "  ".join(
            _padded(cell, room, styles, right=index > 0)
            for index, (cell, room) in enumerate(zip(line, widths, strict=False))
        )
        if narrow and line[0][0]:
            second = zip(group.columns, line[_NARROW:], strict=True)
            yield f"      {', '.join(f'{name} {text}' for name, (text, _) in second)}"


def _widths(lines: Sequence[tuple[Cell, ...]], columns: int, width: int) -> list[int]:
    """Returns the widths of the first columns. The first one gets the space that the others leave."""
    full = [line for line in lines if len(line) > 1]
    widths = [max(len(line[column][0]) for line in full) for column in range(columns)]
    widths[0] = min(widths[0], max(_BAREST_NAME, width - sum(widths[1:]) - 2 * (len(widths) - 1)))
    return widths


def _padded(cell: Cell, width: int, styles: Styles, *, right: bool) -> str:
    text, style = cell
    shown = text if len(text) <= width else f"{text[: width - 1]}…"
    if style is None or not styles.colour:
        return shown.rjust(width) if right else shown.ljust(width)
    blanks = " " * (width - len(shown))
    styled = styles(style, shown)
    return f"{blanks}{styled}" if right else f"{styled}{blanks}"


def _cells(row: ComparisonRow, columns: Sequence[str]) -> tuple[Cell, ...]:
    return (
        (plain(f"    {_name(row)}"), None),
        (figures.value(row.base), None),
        (figures.value(row.head), None),
        (figures.signed_change(row), _STYLES.get(row.verdict) if is_beyond_noise(row) else None),
        *((cell_of(column, row), None) for column in columns),
    )


def _title(row: ComparisonRow) -> str:
    """Returns the title above rows: their benchmark, or the BPF object whose programs they are."""
    planned = row.case.planned
    return row.case.benchmark if planned == row.case else str(planned)


def _name(row: ComparisonRow) -> str:
    """Returns the name of a row below its title."""
    return row.case.params[-1][1] if row.case.planned != row.case else figures.parameters(row.case, "")


def _without_value(rows: Sequence[ComparisonRow], listed: Sequence[ComparisonRow]) -> list[str]:
    """Counts the cases of an arm that failed as a whole. Their reason is its failure."""
    cases = {row.case for row in rows} - {row.case for row in listed}
    return ["", f"{count_noun(len(cases), 'case')} without a value"] if cases else []


def _explanations(rows: Sequence[ComparisonRow]) -> list[str]:
    shared = sorted(figures.shared_reasons(rows), key=lambda each: not is_likely(each[1]))
    told = [(cases, f"{row.verdict}: {row.reason}") for cases, row in shared if row.reason]
    told += figures.shared_notes(rows)
    lines = [f"  {plain(f'{figures.shorten_names(cases)}: {text}')}" for cases, text in told]
    return ["", *lines] if lines else []


def _sweeps(compared: ComparisonSet) -> list[str]:
    lines = [f"  {plain(f'{line.name}: {line.words}')}" for line in sweep_lines(compared.sweeps)]
    return ["", *lines] if lines else []


def _functions(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    if not context.functions:
        return
    blocks, left = function_blocks(compared, context.functions, context.code)
    if blocks:
        yield ""
        yield f"{TITLE}:"
    for block in blocks:
        yield from map(plain, text_lines(block))
    if left:
        yield f"  {more_cases(left)}"


def _profiles(compared: ComparisonSet, context: ReportContext) -> Iterator[str]:
    lines = profiles(compared, context)
    if lines:
        yield ""
        yield f"{PROFILE_TITLE}:"
    yield from map(plain, lines)


def _describe_left_out(compared: ComparisonSet, styles: Styles) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for outcome in compared.left_out:
        if outcome.status == "refused":
            continue  # each for a reason of its own
        status = "unchanged build" if outcome.status == "unchanged-build" else outcome.status
        reasons.setdefault(f"{status}: {outcome.reason}", []).append(str(outcome.case))
    if compared.left_out:
        yield ""
    if refused := dict.fromkeys(str(each.case) for each in compared.left_out if each.status == "refused"):
        reasons["neither side takes it"] = list(refused)
    for reason, cases in reasons.items():
        yield f"  {styles('quiet', plain(f'{figures.shorten_names(list(dict.fromkeys(cases)))}: {reason}'))}"


def _means(compared: ComparisonSet) -> Iterator[str]:
    for mean in compared.means:
        yield f"geometric mean of {mean.metric}: {figures.mean(mean)} over {count_noun(mean.rows, 'row')}"


def _method(compared: ComparisonSet, rows: Sequence[ComparisonRow], context: ReportContext) -> Iterable[str]:
    if compared.control is not None:
        yield figures.control(compared.control)
    if compared.mode is not None:
        yield f"{limitation(compared.mode, compared.platform)}."
    yield from code_sentences(compared, context)
    yield from legend(rows, compared.means)
    yield from context.notes
    if context.folder is not None:
        yield f"Results: {context.folder}"
