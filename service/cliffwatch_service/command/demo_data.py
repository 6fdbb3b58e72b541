"""`cliffwatch demo-data`: fills an empty database with demonstration data."""

from pathlib import Path

import rich_click as click

from cliffwatch.command import terminal
from cliffwatch_service.command.demonstration.filling import fill
from cliffwatch_service.command.token import data_dir_option, operators_pool
from cliffwatch_service.runtime import clock


@click.command("demo-data")
@data_dir_option
def demo_data(data_dir: Path | None) -> None:
    """Fill an empty database with a demonstration.

    It has real runs of patched kernels, published results and made-up history. Pages and reports of such a
    database are marked as a demonstration.
    """
    console = terminal.console(stderr=True)
    filling = console.status("filling (about half a minute)")
    with operators_pool(data_dir) as pool, pool.connection() as connection, filling:
        fill(connection, clock.now(), lambda text: console.print(f"  {text}"))
    console.print(
        "Demonstration ready. Next: cliffwatch serve" + (f" --data-dir {data_dir}" if data_dir else "")
    )
