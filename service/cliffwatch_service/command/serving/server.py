"""The process of a service: its database, its tasks beside it, and HTTP."""

import asyncio
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import anyio.to_thread
import click
import uvicorn

from cliffwatch.command import terminal
from cliffwatch.failure import Exit
from cliffwatch_service.command.app import create_app
from cliffwatch_service.command.failures import ending_on_refusal
from cliffwatch_service.command.listening import bound, cannot_listen
from cliffwatch_service.http.context import Rates, Service
from cliffwatch_service.http.large import LargeWork
from cliffwatch_service.http.server import server_config
from cliffwatch_service.jobs.leases import keep_leases
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.postgres.server import Postgres, postgres
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.logs import set_up_logs
from cliffwatch_service.runtime.memory import collect_seldom, few_pools
from cliffwatch_service.runtime.settings import Settings, read_settings
from cliffwatch_service.tasks.process import task_process
from cliffwatch_service.web.layout.session import session_key

_BESIDE_THE_DATABASE = 4
"""Threads beyond one for each connection to the database: more would only wait, and take turns with the event loop."""

_SWITCH_SECONDS = 0.001
"""After which a thread that computes lets the event loop go on; the interpreter's own measure is five times that."""


def serve_at(host: str, port: int, data_dir: Path | None, *, tasks: bool) -> NoReturn:
    """Serves until it is signalled to end."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _ended)
    with ending_on_refusal():
        taken = bound(host, port)
        settings = read_settings(data_dir=data_dir)
        set_up_logs(json=not sys.stderr.isatty(), colour=not terminal.wants_no_colour())
        try:
            with (
                _closing(taken),
                postgres(settings) as database,
                database.embedded.kept() if database.embedded else nullcontext(),
            ):
                _serve(settings, database, taken, tasks=tasks)
        except _AddressTaken as error:
            raise cannot_listen(host, port, error.cause) from None
    raise SystemExit(Exit.DONE)


def _ended(*_: object) -> NoReturn:
    """At any moment: what was begun is ended in its order. Uvicorn, which drains first, hands its signals on to this."""
    raise SystemExit(Exit.DONE)


@contextmanager
def _closing(taken: tuple[socket.socket, ...]) -> Iterator[None]:
    try:
        yield
    finally:
        for each in taken:
            each.close()


class _AddressTaken(Exception):
    """The address was taken by another program while the service was being made ready."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _serve(settings: Settings, database: Postgres, taken: tuple[socket.socket, ...], *, tasks: bool) -> None:
    few_pools()
    _allow_open_files()
    pool = open_pool(
        database.url, connections=settings.connections, statement_seconds=settings.statement_seconds
    )
    large = LargeWork(settings, database.url)
    try:
        with pool.connection() as connection:
            keep_leases(connection, timedelta(seconds=settings.lease_seconds), clock.now())
        service = Service(
            settings=settings,
            pool=pool,
            now=clock.now,
            rates=Rates(settings.requests_per_minute),
            session_key=session_key(settings),
        )
        config = server_config(create_app(service, large), settings)
        collect_seldom()
        sys.setswitchinterval(_SWITCH_SECONDS)
        with task_process(settings, database.url) if tasks else nullcontext():
            asyncio.run(
                _Announced(config, database.where, settings.connections + _BESIDE_THE_DATABASE).serve(
                    sockets=list(taken)
                )
            )
    finally:
        large.close()
        pool.close()


def _allow_open_files() -> None:
    """As many as the system lets this user have: each connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Announced(uvicorn.Server):
    """Says where it is once it is there."""

    def __init__(self, config: uvicorn.Config, where: str, threads: int) -> None:
        super().__init__(config)
        self._where, self._threads = where, threads

    async def startup(self, sockets: Any = None) -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = self._threads
        try:
            await super().startup(sockets)
        except OSError as error:
            raise _AddressTaken(error) from error
        if self.started:
            address, port = self.servers[0].sockets[0].getsockname()[:2]
            click.echo(f"Cliffwatch at http://{address}:{port}, on {self._where}", err=True)
