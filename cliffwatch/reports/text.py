"""Writes the report for a terminal."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from cliffwatch.comparing.attribution.blocks import TITLE, function_blocks, more_cases, text_lines
from cliffwatch.comparing.attribution.profiles import PROFILE_TITLE
from cliffwatch.comparing.comparison import LESS_LOOP, Comparison, ComparisonSet
from cliffwatch.comparing.ordering import ListedRows, is_beyond_noise, is_likely, list_rows
from cliffwatch.comparing.sweeps.choice import sweep_lines
from cliffwatch.counting import count_noun
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.reports import figures
from cliffwatch.reports.context import (
    MODE_LIMITATIONS,
    ReportContext,
    code_sentences,
    describe_measurement,
    profiles,
    summarize,
)
from cliffwatch.reports.legend import legend, thresholds_differ
from cliffwatch.reports.styles import Styles, plain

_STYLES: dict[Verdict, str] = {
    "regression": "worse",
    "improvement": "better",
    "changed": "strong",
    "failed": "worse",
    "missing": "doubt",
    "invalid": "doubt",
}
_HEADS = ("", "base", "head", "unit", "n", "change", "interval", "detectable", "threshold", "verdict")
_RIGHT = (False, True, True, False, True, True, True, True, True, False)
_THRESHOLD = 8
"""Index of the threshold column, shown only if thresholds differ. Else the footer has the threshold."""

_NARROW = (0, 1, 2, 3, 5, 9)
"""Columns of the first line, if a row needs two lines."""

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
    lines = [plain(line) for text in context.chosen for line in textwrap.wrap(text, width)]
    lines += _failures(context, styles)
    lines.append(styles("strong", _sentence(compared)))
    for warning in compared.warnings:
        lines += [
            styles("doubt", plain(line)) for line in textwrap.wrap(warning, width, break_on_hyphens=False)
        ]
    lines += _about(compared, context, names)
    columns = tuple(
        column for column in range(len(_HEADS)) if column != _THRESHOLD or thresholds_differ(rows)
    )
    for suite, group in groupby(rows, key=lambda row: row.case.suite):
        lines += ["", *_table(suite, list(group), styles, width, columns, names, all_metrics=all_metrics)]
    lines += _explanations(rows)
    lines += _sweeps(compared)
    lines += _functions(compared, context)
    lines += _profiles(compared, context)
    lines += _describe_left_out(compared, styles)
    lines += _footer(compared, rows, context, styles)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _failures(context: ReportContext, styles: Styles) -> Iterator[str]:
    for failure in context.failures:
        yield styles("worse", plain(f"{failure.arm}: {failure.message}"))
        for line in failure.evidence.splitlines()[:_FAILURE_LINES]:
            yield f"    {plain(line)}"
        yield ""


def _about(compared: ComparisonSet, context: ReportContext, names: tuple[str, str]) -> Iterator[str]:
    room = max(map(len, names))
    for name, side in zip(names, (compared.base, compared.head), strict=True):
        yield f"  {plain(name):<{room}}  {plain(side.label)}"
    yield f"  {plain(describe_measurement(compared, context))}"


def _table(
    suite: str,
    rows: Sequence[Comparison],
    styles: Styles,
    width: int,
    columns: tuple[int, ...],
    names: tuple[str, str],
    *,
    all_metrics: bool,
) -> Iterator[str]:
    """Yields one line per row, or two if the columns do not fit. Names the metric if a case has several."""
    shown = ListedRows(rows, "") if all_metrics else list_rows(rows)
    alone = [row for row in rows if not row.metric.endswith(LESS_LOOP)]
    rows, all_metrics = shown.rows, all_metrics or len({row.case for row in alone}) < len(alone)
    heads = [*map(plain, names), *_HEADS[3:]]
    lines: list[tuple[Cell, ...]] = [((plain(suite), "strong"), *((head, "quiet") for head in heads))]
    for title, group in groupby(rows, key=_title):
        lines.append(((f"  {plain(title)}", None),))
        lines += [_cells(row, all_metrics=all_metrics) for row in group]
    second = [column for column in columns if column not in _NARROW]
    widths = _widths(lines, columns, width)
    narrow = widths[0] < min(_LEAST_NAME, max(len(line[0][0]) for line in lines if len(line) > 1))
    if narrow:
        columns = _NARROW
        widths = _widths(lines, columns, width)
    plain_line = "  ".join(
        f"{{:{'>' if _RIGHT[column] else '<'}{room}}}" for column, room in zip(columns, widths, strict=True)
    )
    for line in lines:
        if len(line) == 1:
            yield _padded(line[0], width, styles, right=False)
            continue
        if styles.colour or len(line[0][0]) > widths[0]:
            cells = zip(columns, widths, strict=True)
            yield "  ".join(
                _padded(line[column], room, styles, right=_RIGHT[column]) for column, room in cells
            )
        else:
            yield plain_line.format(*[line[column][0] for column in columns])
        if narrow and line[0][1] is None:
            yield "      " + ", ".join(f"{_HEADS[column]} {line[column][0]}" for column in second)
    if shown.others:
        yield styles("quiet", f"  {shown.others}")


def _widths(lines: Sequence[tuple[Cell, ...]], columns: Sequence[int], width: int) -> list[int]:
    """Returns the widths of the columns. The first column gets the space that the others leave."""
    full = [line for line in lines if len(line) > 1]
    widths = [max(len(line[column][0]) for line in full) for column in columns]
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


def _cells(row: Comparison, *, all_metrics: bool) -> tuple[Cell, ...]:
    params = _name(row, "" if all_metrics else row.metric)
    style = _STYLES.get(row.verdict)
    return (
        (plain(f"    {params}  {row.metric}" if all_metrics else f"    {params}"), None),
        (figures.value(row.base), None),
        (figures.value(row.head), None),
        (plain(row.unit), None),
        (figures.counts(row), None),
        (figures.change(row), style if is_beyond_noise(row) else None),
        (figures.interval(row), None),
        (figures.detectable(row), None),
        (figures.size(row.threshold), None),
        (f"{figures.SIGNS[row.verdict]} {figures.verdict_word(row)}", style),
    )


def _title(row: Comparison) -> str:
    """Returns the title above rows: their benchmark, or the BPF object whose programs they are."""
    planned = row.case.planned
    return row.case.benchmark if planned == row.case else str(planned)


def _name(row: Comparison, metric: str) -> str:
    """Returns the name of a row below its title."""
    if row.case.planned != row.case:
        return row.case.params[-1][1]
    return figures.parameters(row.case, metric)


def _explanations(rows: Sequence[Comparison]) -> list[str]:
    shared = sorted(figures.shared_reasons(rows), key=lambda each: not is_likely(each[1]))
    told = [(cases, f"{row.verdict}: {row.reason}") for cases, row in shared if row.reason]
    notes: dict[str, dict[str, None]] = {}
    for row in rows:
        for note in row.notes:
            notes.setdefault(note, {})[str(row.case)] = None
    told += [(list(cases), note) for note, cases in notes.items()]
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


def _sentence(compared: ComparisonSet) -> str:
    return summarize(compared) if compared.rows or compared.unchanged_builds() else "nothing was compared"


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


def _footer(
    compared: ComparisonSet, rows: Sequence[Comparison], context: ReportContext, styles: Styles
) -> Iterator[str]:
    yield ""
    for line in _sentences_below(compared, rows, context):
        yield styles("quiet", plain(line))


def _sentences_below(
    compared: ComparisonSet, rows: Sequence[Comparison], context: ReportContext
) -> Iterable[str]:
    for mean in compared.means:
        yield f"geometric mean of {mean.metric}: {figures.mean(mean)} over {count_noun(mean.rows, 'row')}"
    if compared.control is not None:
        yield figures.control(compared.control)
    if compared.mode is not None:
        yield f"{MODE_LIMITATIONS[compared.mode]}."
    yield from code_sentences(compared, context)
    yield from legend(rows, compared.means)
    yield from context.notes
    if context.folder is not None:
        yield f"Results: {context.folder}"
