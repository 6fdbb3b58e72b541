"""`cliffwatch tasks`: runs background tasks for a service that was started without them."""

import asyncio
import sys
from datetime import timedelta

import psycopg
import rich_click as click

from cliffwatch.command import terminal
from cliffwatch.failure import Exit
from cliffwatch_service.command.failures import ending_on_refusal, exit_failed
from cliffwatch_service.postgres.server import postgres
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.logs import set_up_logs
from cliffwatch_service.runtime.settings import read_settings
from cliffwatch_service.store import background
from cliffwatch_service.tasks.process import run_tasks

_ALIVE = timedelta(seconds=60)
"""Age of the last heartbeat from which a process counts as dead. Heartbeats come every 5 s."""


@click.command()
@click.option("--check", is_flag=True, help="Only check whether a process runs tasks: status 0, else 4.")
def tasks(*, check: bool) -> None:
    """Run background tasks: compare, poll followed branches, watch series, expire leases, clean up.

    `serve` runs them in a separate process unless it has --no-tasks. Several processes may share a database.
    """
    with ending_on_refusal(), postgres(read_settings()) as database:
        if check:
            with psycopg.connect(database.url) as connection:
                last = background.last_heartbeat(connection)
            if last is None or clock.now() - last > _ALIVE:
                raise exit_failed(
                    f"no process runs background tasks (last heartbeat: {last or 'never'}):"
                    " start `cliffwatch tasks`",
                    Exit.HOST_FAILED,
                )
            return
        set_up_logs(json=not sys.stderr.isatty(), colour=not terminal.wants_no_colour())
        asyncio.run(run_tasks(database.url, read_settings()))
