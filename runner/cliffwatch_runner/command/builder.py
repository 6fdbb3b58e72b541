"""`cliffwatch builder`: runs a worker's job in a separate container."""

import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.command.secret import shut_memory
from cliffwatch.command.terminal import echo_failure, say
from cliffwatch.failure import Exit
from cliffwatch.formats.work import TRUSTS
from cliffwatch_runner.command.options.cache import cache_option
from cliffwatch_runner.command.options.values import hours_option
from cliffwatch_runner.command.worker import clean_environment
from cliffwatch_runner.sandbox.isolation import find_isolation_gap
from cliffwatch_runner.worker.builder.serving import BuilderPlace, serve_one_job

_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


@click.command()
@click.option(
    "--exchange",
    type=_FOLDER,
    required=True,
    help="Folder shared with the worker only.",
)
@cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch.")
@click.option(
    "--trust",
    type=click.Choice(TRUSTS),
    default="outside",
    show_default=True,
    help="Trees to build. followed: branches that the service follows, with build output kept; outside: "
    "anybody's.",
)
@hours_option
def builder(exchange: Path, cache: Path, trust: str, hours: float) -> NoReturn:
    """Run one job of the worker in a container without a network, and exit. The container engine restarts it.

    docker-compose.yml shows the intended use: a disposable container with nothing else in it.
    """
    gap = find_isolation_gap()
    if gap is not None:
        message = f"a builder needs its own container without a network: {gap.message}"
        raise SystemExit(echo_failure(replace(gap, message=message)))
    shut_memory()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(
            number, _exit_on_signal
        )  # signals have no default action for the first process of a container
    cache.mkdir(parents=True, exist_ok=True)
    place = BuilderPlace(
        exchange=exchange,
        cache=cache,
        trust="followed" if trust == "followed" else "outside",
        command=(sys.executable, "-m", "cliffwatch.command"),
        env=clean_environment(cache.parent),
        seconds=hours * 3600,
    )
    say(f"waiting for a job of {trust} trees at {exchange}")
    failed = serve_one_job(place)
    raise SystemExit(Exit.DONE if failed is None else echo_failure(failed))


def _exit_on_signal(*_: object) -> NoReturn:
    raise SystemExit(Exit.DONE)
