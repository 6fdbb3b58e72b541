"""`cliffwatch serve`: runs the whole service with one command."""

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

import rich_click as click


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen at; 0 for a free one.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Data directory of the embedded PostgreSQL.",
)
@click.option(
    "--no-tasks", is_flag=True, help="Run no background tasks: `cliffwatch tasks` runs them elsewhere."
)
def serve(host: str, port: int, data_dir: Path | None, *, no_tasks: bool) -> NoReturn:
    """Run the service: store results, give jobs to hosts, answer over HTTP.

    Database: the one of DATABASE_URL, else an embedded PostgreSQL. Settings: CLIFFWATCH_* variables, or the
    TOML file that CLIFFWATCH_SETTINGS names; docs/operations.md lists them.
    """
    asked = json.dumps(
        {"host": host, "port": port, "data_dir": data_dir and str(data_dir), "tasks": not no_tasks}
    )
    # Replaces this Python by a fresh one: the libraries of the command line would occupy 5 MB for ever.
    os.execv(  # noqa: S606 - our own interpreter
        sys.executable, [sys.executable, "-P", "-m", "cliffwatch_service.command.serving", asked]
    )
