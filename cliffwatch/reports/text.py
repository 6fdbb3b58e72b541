"""The report for a terminal."""

import io
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cliffwatch.comparing.comparison import Comparison, ComparisonSet
from cliffwatch.reports import figures
from cliffwatch.reports.context import SIGHT, ReportContext, sentence, trials

_COLOURS = {
    "regression": "bold red",
    "improvement": "bold green",
    "failed": "bold red",
    "missing": "yellow",
    "invalid": "yellow",
}
_MARKS = {
    "regression": "▲ regression",
    "improvement": "▼ improvement",
    "unchanged": "  unchanged",
    "inconclusive": "? inconclusive",
    "missing": "- missing",
    "failed": "! failed",
    "invalid": "x invalid",
}
"""Worse and better by shape as well: colours alone do not reach everybody."""


def text_report(
    compared: ComparisonSet, context: ReportContext, *, colour: bool, width: int = 120, all_metrics: bool = False
) -> str:
    """The report as text of at most `width` columns; the primary metric of each case, or all of them."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=colour, color_system="standard" if colour else None, highlight=False
    )
    _failures(console, context)
    console.print(f"[bold]{sentence(compared)}[/]" if compared.rows else "[bold]nothing was compared[/]")
    _about(console, compared, context)
    rows = compared.rows if all_metrics else compared.primary_rows()
    for suite, group in groupby(rows, key=lambda row: row.case.suite):
        console.print()
        console.print(_table(suite, list(group), all_metrics=all_metrics))
    _explanations(console, rows)
    _sweeps(console, compared)
    _left_out(console, compared)
    _footer(console, compared, context)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _failures(console: Console, context: ReportContext) -> None:
    for failure in context.failures:
        console.print(f"[bold red]{escape(failure.arm)}: {escape(failure.message)}[/]")
        for line in failure.evidence.splitlines()[:30]:
            console.print(f"    {escape(line)}", soft_wrap=True)
        console.print()


def _about(console: Console, compared: ComparisonSet, context: ReportContext) -> None:
    for name, side in (("base", compared.base), ("head", compared.head)):
        console.print(f"  {name}  {escape(side.label)}", soft_wrap=True)
    where = [trials(compared), compared.mode or "unknown mode", compared.platform or "unknown platform"]
    console.print(f"  {', '.join([*where, *map(escape, context.setting)])}", soft_wrap=True)


def _table(suite: str, rows: list[Comparison], *, all_metrics: bool) -> Table:
    table = Table(box=None, pad_edge=False, title_justify="left", header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(f"[bold not dim]{escape(suite)}[/]", no_wrap=True)
    for name in ("base", "head"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    for name in ("change", "interval", "could see"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for benchmark, group in groupby(rows, key=lambda row: row.case.benchmark):
        table.add_row(f"  {escape(benchmark)}")
        for row in group:
            table.add_row(*_cells(row, all_metrics=all_metrics))
    return table


def _cells(row: Comparison, *, all_metrics: bool) -> tuple[str, ...]:
    params = " ".join(f"{name}={value}" for name, value in row.case.params) or "(defaults)"
    name = f"{params}  {row.metric}" if all_metrics else params
    change = figures.change(row)
    verdict = _MARKS[row.verdict]
    if row.verdict in _COLOURS:
        colour = _COLOURS[row.verdict]
        verdict = f"[{colour}]{verdict}[/]"
        change = f"[{colour}]{change}[/]" if row.beyond_noise else change
    return (
        f"    {escape(name)}",
        figures.value(row.base),
        figures.value(row.head),
        escape(row.unit),
        figures.counts(row),
        change,
        figures.interval(row),
        figures.sees(row),
        verdict,
    )


def _explanations(console: Console, rows: tuple[Comparison, ...]) -> None:
    told = [row for row in rows if row.verdict in ("failed", "missing", "inconclusive", "invalid") and row.reason]
    if told or any(row.notes for row in rows):
        console.print()
    for row in told:
        console.print(f"  {escape(str(row.case))}: {row.verdict}: {escape(row.reason)}", soft_wrap=True)
    for row in rows:
        for note in row.notes:
            console.print(f"  {escape(str(row.case))}: {escape(note)}", soft_wrap=True)


def _sweeps(console: Console, compared: ComparisonSet) -> None:
    if compared.sweeps:
        console.print()
    for sweep in compared.sweeps:
        console.print(f"  {escape(sweep.benchmark)}: {escape(sweep.words)}", soft_wrap=True)


def _left_out(console: Console, compared: ComparisonSet) -> None:
    if not compared.left_out:
        return
    reasons: dict[str, list[str]] = {}
    for outcome in compared.left_out:
        reasons.setdefault(f"{outcome.status}: {outcome.reason}", []).append(str(outcome.case))
    console.print()
    for reason, cases in reasons.items():
        shown = ", ".join(dict.fromkeys(cases[:4])) + (f" and {len(cases) - 4} more" if len(cases) > 4 else "")
        console.print(f"  [dim]{escape(shown)}: {escape(reason)}[/]", soft_wrap=True)


def _footer(console: Console, compared: ComparisonSet, context: ReportContext) -> None:
    console.print()
    for mean in compared.means:
        if mean.rows > 1:
            said = f"geometric mean of {mean.metric}: {figures.mean(mean)} over {mean.rows} rows"
            console.print(f"[dim]{escape(said)}[/]", soft_wrap=True)
    if compared.control is not None:
        console.print(f"[dim]base against itself: {figures.control(compared.control)}[/]", soft_wrap=True)
    if compared.mode is not None:
        console.print(f"[dim]{SIGHT[compared.mode]}.[/]", soft_wrap=True)
    console.print(f"[dim]Notable from {compared.notable:.1%} on; ~ is within the noise.[/]", soft_wrap=True)
    for note in context.notes:
        console.print(f"[dim]{escape(note)}[/]", soft_wrap=True)
    if context.folder is not None:
        console.print(f"[dim]Results: {escape(context.folder)}[/]", soft_wrap=True)
