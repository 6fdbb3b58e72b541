"""`cliffwatch parse`: what a raw output holds."""

import json
import sys
from pathlib import Path
from typing import NoReturn

import rich_click as click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.exits import Exit
from cliffwatch.importing import Unreadable, read_text
from cliffwatch.parsers.detect import parse_any
from cliffwatch.readings import Parsed


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="For programs: an object with `values` and `problems`.")
def parse(files: tuple[str, ...], as_json: bool) -> NoReturn:
    """Print what raw outputs hold: bench output, Go benchmark format, veristat CSV, Bencher Metric Format.

    `-` is standard input. Beside FILE.out, FILE.err is read as what the same run wrote to standard error.
    """
    read = [(name, _read(name)) for name in files]
    for _, parsed in read:
        if isinstance(parsed, Unreadable):
            click.echo(f"cliffwatch: {parsed.reason}\n  {parsed.next_step}", err=True)
            raise SystemExit(Exit.USAGE)
    good = [(name, parsed) for name, parsed in read if isinstance(parsed, Parsed)]
    if as_json:
        click.echo(json.dumps(_as_json(good), indent=1, allow_nan=False))
    else:
        _print(good)
    empty = not any(parsed.values or parsed.problems for _, parsed in good)
    raise SystemExit(Exit.USAGE if empty else Exit.DONE)


def _read(name: str) -> Parsed | Unreadable:
    if name == "-":
        return parse_any(sys.stdin.buffer.read(64 << 20).decode(errors="replace"))
    path = Path(name)
    text = read_text(path)
    if isinstance(text, Unreadable):
        return text
    beside = read_text(path.with_suffix(".err")) if path.suffix == ".out" else ""
    return parse_any(text, stderr=beside if isinstance(beside, str) else "")


def _as_json(read: list[tuple[str, Parsed]]) -> dict[str, object]:
    catalogue = load_catalogue()
    several = len(read) > 1
    return {
        "values": [
            {
                "suite": value.suite or catalogue.suite_of(value.benchmark),
                "benchmark": value.benchmark,
                "params": dict(value.params),
                "metric": value.metric,
                "unit": value.unit,
                "value": value.value,
                "samples": list(value.samples),
            }
            for _, parsed in read
            for value in parsed.values
        ],
        "problems": [
            {"line": problem.line, "text": problem.text, "reason": problem.reason} | ({"file": name} if several else {})
            for name, parsed in read
            for problem in parsed.problems
        ],
    }


def _print(read: list[tuple[str, Parsed]]) -> None:
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("benchmark", "metric"):
        table.add_column(name)
    table.add_column("value", justify="right")
    table.add_column("unit")
    table.add_column("readings", justify="right")
    for _, parsed in read:
        for value in parsed.values:
            params = "".join(f" {name}={text}" for name, text in value.params.items())
            row = (
                f"{value.benchmark}{params}",
                value.metric,
                f"{value.value:.3f}",
                value.unit,
                str(len(value.samples)),
            )
            table.add_row(*map(escape, row))
    if table.row_count:
        console.print(table)
    for name, parsed in read:
        for problem in parsed.problems:
            console.print(f"{escape(name)}:{problem.line}: {escape(problem.reason)}", style="yellow", soft_wrap=True)
            if problem.text.strip():
                console.print(f"    {escape(problem.text)}", soft_wrap=True)
