"""`cliffwatch builder`: does a worker's jobs in a container of its own, one after the other."""

import signal
import sys
from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.command.terminal import echo_failure, say
from cliffwatch.failure import Exit, Failure
from cliffwatch_runner.command.options.cache import cache_option
from cliffwatch_runner.command.worker import clean_environment
from cliffwatch_runner.host.surroundings import open_container
from cliffwatch_runner.worker.builder.serving import BuilderPlace, serve_one_job
from cliffwatch_runner.worker.secret import shut_memory

_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


@click.command()
@click.option(
    "--exchange",
    type=_FOLDER,
    required=True,
    help="Folder that is shared with the worker, and with nobody else.",
)
@cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch.")
@click.option(
    "--trust",
    type=click.Choice(["followed", "outside"]),
    default="outside",
    show_default=True,
    help="Whose trees it builds: of branches that the service follows, which keep their build output, or anybody's.",
)
@click.option(
    "--hours",
    type=click.FloatRange(0.01, 240),
    default=8.0,
    show_default=True,
    help="Hours that a job may take at most.",
)
def builder(exchange: Path, cache: Path, trust: str, hours: float) -> NoReturn:
    """Do one job of the worker beside, in a container without network, and end; the container engine starts it anew.

    docker-compose.yml has it as it is meant: nothing else in the container, which can be thrown away.
    """
    wrong = open_container()
    if wrong is not None:
        failure = Failure(
            whose="usage",
            message=f"a builder runs in a container of its own without a network: {wrong}",
            next_step="start it as docker-compose.yml does; on a host of its own `cliffwatch worker` builds by itself",
        )
        raise SystemExit(echo_failure(failure))
    shut_memory()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _ended)  # the first process of a container has no default action
    cache.mkdir(parents=True, exist_ok=True)
    place = BuilderPlace(
        exchange=exchange,
        cache=cache,
        trust="followed" if trust == "followed" else "outside",
        command=(sys.executable, "-m", "cliffwatch.command"),
        env=clean_environment(cache.parent),
        seconds=hours * 3600,
    )
    say(f"waits for a job of {trust} trees at {exchange}")
    failed = serve_one_job(place)
    raise SystemExit(Exit.DONE if failed is None else echo_failure(failed))


def _ended(*_: object) -> NoReturn:
    raise SystemExit(Exit.DONE)
