"""Reports in benchstat's layout for Go developers: one table per unit with all arms' values and changes."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from cliffwatch.comparing.comparison import DECIDED, ComparisonSet
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.context import ReportContext
from cliffwatch.reports.legend import legend
from cliffwatch.reports.several.matrix import MatrixRow, matrix
from cliffwatch.reports.styles import plain, visible

_LARGE = ("", "k", "M", "G", "T")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti")
_SMALL = ("", "m", "µ", "n", "p")

Cells = tuple[str, ...]


def benchstat_report(compared: ComparisonSet, context: ReportContext) -> str:
    """Writes the report on two arms."""
    return benchstat_of_arms((compared,), context)


def benchstat_of_arms(compared: Sequence[ComparisonSet], context: ReportContext) -> str:
    """Writes the report on any number of arms, each against the first arm."""
    first = compared[0]
    names = [first.base.name or "base", *(each.head.name or "head" for each in compared)]
    labels = [first.base.label, *(each.head.label for each in compared)]
    lines = [f"mode: {first.mode or 'unknown'}", f"platform: {first.platform or 'unknown'}"]
    layouts = [first.base.layouts, *(each.head.layouts for each in compared)]
    shown = layouts[:1] if len(set(layouts)) == 1 else layouts
    lines += [f"layouts: {', '.join(map(str, shown))}"] if max(layouts) > 1 else []
    lines += [f"{name}: {label}" for name, label in zip(names, labels, strict=True)]
    lines += dict.fromkeys(warning for each in compared for warning in each.warnings)
    lines += [f"{failure.arm}: {failure.message}" for failure in context.failures]
    for suite, of_suite in groupby(matrix(compared), key=lambda row: row.case.suite):
        rows = list(of_suite)
        lines += ["", f"suite: {suite}"]
        for metric, unit in dict.fromkeys((row.metric, row.unit) for row in rows):
            chosen = [row for row in rows if (row.metric, row.unit) == (metric, unit)]
            means = [_mean(each, metric, unit) for each in compared]
            lines += [*_table(metric, unit, names, chosen, means), ""]
        lines.pop()
    lines += ["", *_remarks(compared)]
    lines += [figures.control(first.control)] if first.control is not None else []
    lines += legend([row for each in compared for row in each.primary_rows()])
    lines += context.notes
    return visible("\n".join(line.rstrip() for line in map(plain, lines)) + "\n")


def _remarks(compared: Sequence[ComparisonSet]) -> Iterator[str]:
    """Says why rows have a sign instead of a change, and what else is known of rows."""
    for each in compared:
        arm = f"{each.head.name}: " if len(compared) > 1 else ""
        for cases, row in figures.shared_reasons(each.primary_rows()):
            yield f"{arm}{figures.shorten_names(cases)}: {figures.explain_inconclusive(row)}"
        for cases, note in figures.shared_notes(each.primary_rows()):
            yield f"{arm}{figures.shorten_names(cases)}: {note}"


def _table(
    metric: str, unit: str, names: list[str], rows: list[MatrixRow], means: list[str]
) -> Iterator[str]:
    shown = convert_unit(unit)[0]
    title = shown if metric in (unit, "") else f"{metric} {shown}"
    cells = [_cells(row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    widths[1:] = [max(width, len(title)) for width in widths[1:]]
    changes = [[_change(cell) for cell in row.cells] for row in rows]
    rooms = [
        max(map(len, (*column, "vs base", mean)))
        for column, mean in zip(zip(*changes, strict=True), means, strict=True)
    ]
    label = max(widths[0], len("geomean"))
    blocks = [widths[1], *(value + 2 + room for value, room in zip(widths[2:], rooms, strict=True))]
    blocks = [max(block, len(name)) for block, name in zip(blocks, names, strict=True)]
    yield (
        f"{'':<{label}} │ "
        + " │ ".join(f"{name:^{block}}" for name, block in zip(names, blocks, strict=True))
        + " │"
    )
    heads = [title, *(f"{title:>{value}}  vs base" for value in widths[2:])]
    yield (
        f"{'':<{label}} │ "
        + " │ ".join(f"{head:<{block}}" for head, block in zip(heads, blocks, strict=True))
        + " │"
    )
    for each, change in zip(cells, changes, strict=True):
        pairs = zip(each[2:], change, widths[2:], strict=True)
        texts = [f"{each[1]:>{widths[1]}}", *(f"{value:>{width}}  {text}" for value, text, width in pairs)]
        yield f"{each[0]:<{label}}   " + "   ".join(
            f"{text:<{block}}" for text, block in zip(texts, blocks, strict=True)
        )
    if any(means):
        texts = ["", *(f"{'':>{width}}  {mean}" for width, mean in zip(widths[2:], means, strict=True))]
        yield f"{'geomean':<{label}}   " + "   ".join(
            f"{text:<{block}}" for text, block in zip(texts, blocks, strict=True)
        )


def _cells(row: MatrixRow) -> Cells:
    """Returns the case, base's value and the values of the other arms."""
    base = next((each for each in row.cells if each is not None and each.base is not None), None)
    own = "-" if base is None else _value(base.base, base.base_spread, row.unit)
    heads = ("-" if each is None else _value(each.head, each.head_spread, row.unit) for each in row.cells)
    name = "/".join((row.case.benchmark, *(f"{param}={value}" for param, value in row.case.params)))
    return (name, own, *heads)


def _value(number: float | None, spread: float | None, unit: str) -> str:
    if number is None:
        return "-"
    about = "" if spread is None else f" ± {100 * spread:.0f}%"
    return format_scaled(number, unit) + about


def _change(row: ComparisonRow | None) -> str:
    """Formats a change: `-90.58% (n=2)`, with a p-value if a test decided.

    An undecided row has only its sign.
    """
    if row is None:
        return "-"
    change = figures.change(row).replace(" %", "%") if row.verdict in DECIDED else figures.SIGNS[row.verdict]
    counts = f"n={row.n_base}" if row.n_base == row.n_head else f"n={row.n_base}+{row.n_head}"
    return f"{change} ({'' if row.p is None else f'p={row.p:.3f} '}{counts})"


def _mean(compared: ComparisonSet, metric: str, unit: str) -> str:
    means = (each.change for each in compared.means if (each.metric, each.unit) == (metric, unit))
    change = next(means, None)
    return "" if change is None else figures.percent(change).replace(" %", "%")


def convert_unit(unit: str) -> tuple[str, float]:
    """Returns benchstat's name of a unit, and the factor that converts values to it."""
    seconds = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3}
    name, separator, per = unit.partition("/")
    return (f"sec{separator}{per}", seconds[name]) if name in seconds else (unit, 1.0)


def format_scaled(number: float, unit: str) -> str:
    """Formats a value with four significant digits and a prefix: `56.78µ`, `5.875Ki`."""
    name, factor = convert_unit(unit)
    size, step = abs(number * factor), 1024 if name.partition("/")[0] == "B" else 1000
    prefixes, place = _BINARY if step == 1024 else _LARGE, 0
    while size >= 0.99995 * step and place < len(prefixes) - 1:
        size, place = size / step, place + 1
    if size < 1 and size > 0 and place == 0 and step == 1000:
        prefixes = _SMALL
        while size < 0.99995 and place < len(prefixes) - 1:
            size, place = size * step, place + 1
    digits = 3 if size < 9.9995 else 2 if size < 99.995 else 1 if size < 999.95 else 0
    return f"{'-' if number < 0 else ''}{size:.{digits}f}{prefixes[place]}"
