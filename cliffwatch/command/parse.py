"""`cliffwatch parse`: prints the values in raw output."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import rich_click as click
from rich.markup import escape
from rich.table import Table

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.command import terminal
from cliffwatch.command.terminal import Form, echo_failure, form_option
from cliffwatch.failure import Exit, Failure
from cliffwatch.importing import parse_file
from cliffwatch.parsers.readings import Parsed
from cliffwatch.parsers.received.opening import read_text, refuse_shared_pipe
from cliffwatch.reports import figures
from cliffwatch.reports.styles import plain
from cliffwatch.samples import Sample

_PLAIN = 0.01
"""A smaller value needs more than three decimals."""

_COLUMNS = ("file", "suite", "benchmark", "parameters", "metric", "value", "unit", "readings")
_RIGHT = (5, 7)
"""Columns of numbers."""
_WHOLE = 4
"""Columns from metric on are never wrapped."""
_SEVERAL = 2
_MOST_WRAPPED = 1000
"""Most rows that are wrapped to the terminal's width: wrapping takes a second for a few thousand."""


@click.command()
@click.argument("files", nargs=-1, required=True)
@form_option("Format of the output; JSON is an object with `values` and `problems`.")
def parse(files: tuple[str, ...], form: Form) -> NoReturn:
    """Print what raw outputs hold: bench output, Go benchmark format, veristat CSV, Bencher Metric Format,
    and our own CSV and Parquet.

    Ends with 2 where they hold no result. `-` is standard input. Beside FILE.out, FILE.err is read as what
    the same run wrote to standard error.
    """
    shared = refuse_shared_pipe(files)
    if shared is not None:
        raise SystemExit(echo_failure(shared))
    read = [(name, _read(name)) for name in files]
    for _, parsed in read:
        if isinstance(parsed, Failure):
            raise SystemExit(echo_failure(parsed))
    good = [(name, parsed) for name, parsed in read if isinstance(parsed, Parsed)]
    if form == "json":
        click.echo(json.dumps(_as_json(good), indent=1, allow_nan=False))
    else:
        _print(good)
    if not any(parsed.found for _, parsed in good):
        click.echo(
            f"cliffwatch: there is no result in {', '.join(files)}\n  docs/formats.md names what is read",
            err=True,
        )
        raise SystemExit(Exit.USAGE)
    raise SystemExit(Exit.DONE)


def _read(name: str) -> Parsed | Failure:
    path = Path(name)
    beside = read_text(path.with_suffix(".err")) if path.suffix == ".out" else ""
    return parse_file(name, stderr=beside if isinstance(beside, str) else "")


def _as_json(read: list[tuple[str, Parsed]]) -> dict[str, object]:
    catalogue = load_catalogue()
    several = len(read) > 1
    return {
        "values": [
            {
                "suite": sample.case.suite or catalogue.suite_of(sample.case.benchmark),
                "benchmark": sample.case.benchmark,
                "params": dict(sample.case.params),
                "metric": sample.metric,
                "unit": sample.unit,
                "value": sample.value,
                "samples": list(sample.readings),
            }
            | ({"arm": found.arm} if found.arm else {})
            | ({"file": name} if several else {})
            for name, parsed in read
            for found in parsed.found
            for sample in (found.sample,)
        ],
        "problems": [
            {"line": problem.line, "text": problem.text, "reason": problem.reason}
            | ({"file": name} if several else {})
            for name, parsed in read
            for problem in parsed.problems
        ],
    }


_Row = tuple[str, ...]


def _row(name: str, sample: Sample) -> _Row:
    params = " ".join(f"{param}={text}" for param, text in sample.case.params)
    value = sample.value
    number = figures.value(value) if abs(value) >= _PLAIN or not value else f"{value:.4g}"
    suite = sample.case.suite or load_catalogue().suite_of(sample.case.benchmark) or ""
    cells = (name, suite, sample.case.benchmark, params, sample.metric, number, sample.unit)
    return tuple(map(plain, (*cells, str(len(sample.readings)))))


def _aligned(row: _Row, columns: Sequence[int], widths: Sequence[int]) -> str:
    cells = zip(columns, widths, strict=True)
    texts = (
        row[place].rjust(width) if place in _RIGHT else row[place].ljust(width) for place, width in cells
    )
    return "  ".join(texts).rstrip()


def _wrapped(rows: Sequence[_Row], columns: Sequence[int]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place in columns:
        wraps = place < _WHOLE
        table.add_column(
            _COLUMNS[place],
            justify="right" if place in _RIGHT else "left",
            no_wrap=not wraps,
            overflow="fold" if wraps else "ellipsis",
        )
    for row in rows:
        table.add_row(*(escape(row[place]) for place in columns))
    return table


def _print(read: list[tuple[str, Parsed]]) -> None:
    """Prints one line per sample. On a narrow terminal, names and parameters are wrapped, never cut."""
    shown = terminal.console()
    rows = [
        _row(f"{name}:{found.arm}" if found.arm else name, found.sample)
        for name, parsed in read
        for found in parsed.found
    ]
    several = len({row[1] for row in rows}) >= _SEVERAL
    columns = [place for place, title in enumerate(_COLUMNS) if several or title != "suite"]
    widths = [max(len(row[place]) for row in (_COLUMNS, *rows)) for place in columns]
    if len(rows) > _MOST_WRAPPED or sum(widths) + 2 * len(widths) <= shown.width:
        for row in (_COLUMNS, *rows) if rows else ():
            click.echo(_aligned(row, columns, widths))
    else:
        shown.print(_wrapped(rows, columns))
    for name, parsed in read:
        for problem in parsed.problems:
            line = f"{name}:{problem.line}: {problem.reason}"
            shown.print(escape(plain(line)), style="yellow", soft_wrap=True)
            if problem.text.strip():
                shown.print(f"    {escape(plain(problem.text.expandtabs()))}", soft_wrap=True)
