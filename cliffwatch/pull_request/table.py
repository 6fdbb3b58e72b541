"""Writes the table of a comment: one column per target, one line per case or stretch of a sweep."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.comparison import CHANGES, ComparisonSet
from cliffwatch.comparing.ordering import is_beyond_noise
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Control
from cliffwatch.pull_request.news import News
from cliffwatch.pull_request.sweep_rows import Line, lines_of
from cliffwatch.reports import figures
from cliffwatch.reports.context import in_layouts
from cliffwatch.reports.legend import placement
from cliffwatch.reports.markdown import code, escape_markdown, one_line, word
from cliffwatch.reports.several.across import Across

_LEGEND = (
    "▲ worse, ▼ better, with the interval; ~ is within the noise, - was not measured there. Boots are per"
    " kernel. Base vs base check: its largest difference and false positives."
)
_WIDEST_LABEL = 30
_Kind = tuple[str, str, str, str]
"""Suite, benchmark, metric and unit."""


_REMARKS = 10
"""Most lines of remarks on rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table in Markdown."""

    lines: tuple[str, ...]
    left: int
    """Number of lines of changes that are left out."""


def news_table(news: News, rows: Sequence[Across], *, most: int, skip: int = 0) -> Table:
    """Writes a table of rows. Skips the first `skip` lines of changes and shows the next `most` at most."""
    body = list(_body(news, rows))
    shown = body[skip : skip + most]
    heads = ["case", *(word(target.name) for target in news.targets)]
    control = ["base vs base check", *(_control(each.compared.control) for each in news.measured)]
    cells = [(code(line.label) if line.label else "(defaults)", *texts) for _, line, texts in shown]
    boots = ["boots", *(_boots(each.compared) for each in news.measured)]
    widths = _widths([heads, *cells, boots, control])
    lines = [_line(heads, widths), "-|-".join("-" * width for width in widths)]
    measures = _measures(news)
    last: _Kind | None = None
    for (kind, _, _), texts in zip(shown, cells, strict=True):
        if kind != last:
            lines.append(_title(kind, measures[kind]) + " |" * len(news.targets))
            last = kind
        lines.append(_line(texts, widths))
    lines += [_line(boots, widths), _line(control, widths)]
    return Table(lines=tuple(lines), left=max(0, len(body) - skip - most))


def table_legend(rows: Sequence[Across]) -> str:
    """Explains the signs in a table of these rows."""
    changed = any(cell.verdict == "changed" for row in rows for cell in row.cells if cell is not None)
    return f"{_LEGEND} ≠ changed: nobody said which way is better." if changed else _LEGEND


def remark_lines(rows: Sequence[Across]) -> list[str]:
    """Says of rows what their table cannot: how noisy they are, and whether they are only placement."""
    remarks: dict[str, dict[str, None]] = {}
    for row in rows:
        for cell in filter(None, row.cells):
            for remark in (*cell.notes, *filter(None, [placement(cell)])):
                remarks.setdefault(remark, {})[f"{cell.suite}/{cell.case}"] = None
    lines = [
        one_line(f"{figures.shorten_names(list(cases), code)}: {escape_markdown(remark)}", first="- ")
        for remark, cases in remarks.items()
    ]
    more = [f"- and {count_noun(len(lines) - _REMARKS, 'more remark')}"] if len(lines) > _REMARKS else []
    return [*lines[:_REMARKS], *more, ""] if lines else []


def _body(news: News, rows: Sequence[Across]) -> Iterator[tuple[_Kind, Line, tuple[str, ...]]]:
    """Yields the lines of the table with their cells, grouped by kind in order of first occurrence."""
    chosen: dict[_Kind, list[Across]] = {}
    for row in rows:
        chosen.setdefault(_kind(row), []).append(row)
    everything: dict[_Kind, list[Across]] = {kind: [] for kind in chosen}
    for row in news.rows:
        if _kind(row) in everything:
            everything[_kind(row)].append(row)
    for kind, group in chosen.items():
        for line in lines_of(group, everything[kind]):
            yield (
                kind,
                line,
                tuple(_cell([row.cells[index] for row in line.rows]) for index in range(len(news.targets))),
            )


def _kind(row: Across) -> _Kind:
    return row.suite, row.benchmark, row.metric, row.unit


def _measures(news: News) -> dict[_Kind, dict[tuple[str, str], None]]:
    """Returns metric and unit of all cells by kind.

    Cells of a kind may differ: icount counts instructions, not time.
    """
    found: dict[_Kind, dict[tuple[str, str], None]] = {}
    for row in news.rows:
        found.setdefault(_kind(row), {}).update(dict.fromkeys(row.measures))
    return found


def _title(kind: _Kind, measures: Iterable[tuple[str, str]]) -> str:
    said = ", ".join(
        dict.fromkeys(
            word(text) for pair in measures for text in (pair[0].replace("-", " "), pair[1]) if text
        )
    )
    return f"{code(kind[1])} {said}".strip()


def _cell(cells: Sequence[ComparisonRow | None]) -> str:
    if len(cells) == 1:
        return cell_text(cells[0])
    known = [cell for cell in cells if cell is not None]
    verdicts = {cell.verdict for cell in known}
    if len(known) < len(cells) or len(verdicts) != 1:
        return "-"
    (verdict,) = verdicts
    if verdict not in CHANGES:
        return "~" if verdict == "unchanged" else figures.mark_verdict(verdict)
    changes = [cell.change for cell in known if cell.change is not None]
    if len(changes) < len(known):
        return figures.mark_verdict(verdict)
    low, high = min(changes), max(changes)
    return f"{figures.SIGNS[verdict]} {100 * low:+.1f} to {100 * high:+.1f} %"


def cell_text(cell: ComparisonRow | None) -> str:
    """Returns a change with its interval, `▲ +4.81 % [4.76, 4.86]`; `~` within noise, or the verdict."""
    if cell is None:
        return "-"
    if cell.verdict == "unchanged":
        return figures.percent(cell.change) if is_beyond_noise(cell) else figures.NOT_SIGNIFICANT
    if cell.verdict not in CHANGES:
        return figures.mark_verdict(cell.verdict)
    if cell.change is None:
        return f"{figures.SIGNS[cell.verdict]} {figures.step(cell)}"
    low, high = cell.ci_low, cell.ci_high
    # A digit more than the interval is wide says nothing.
    digits = 2 if low is None or high is None or high - low < 0.002 else 1
    text = f"{figures.SIGNS[cell.verdict]} {100 * cell.change:+.{digits}f} %"
    return (
        text if low is None or high is None else f"{text} [{100 * low:.{digits}f}, {100 * high:.{digits}f}]"
    )


def _boots(compared: ComparisonSet) -> str:
    base, head = compared.base.boots, compared.head.boots
    spread = in_layouts(compared.base, compared.head)
    return f"{base:,}{spread}" if base == head else f"{base:,} and {head:,}{spread}"


def _control(control: Control | None) -> str:
    if control is None:
        return "-"
    where = ", in other layouts" if control.layouts > 1 else ""
    return f"{100 * control.largest:.1f} %, {control.published} of {control.rows}{where}"


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    """Returns the widths of the columns.

    An overlong label sticks out of its column instead of widening it.
    """
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    fitting = [len(line[0]) for line in lines if len(line[0]) <= _WIDEST_LABEL]
    return [max(fitting, default=_WIDEST_LABEL), *widths[1:]]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip(" ")


def describe_left_out(left: int) -> str:
    return f"{count_noun(left, 'more line does', 'more lines do')} not fit here."
