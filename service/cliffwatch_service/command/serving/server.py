"""The process of a service: starts its database and its task process, and answers HTTP."""

import asyncio
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

import anyio.to_thread
import click
import uvicorn

from cliffwatch.command import terminal
from cliffwatch.failure import Exit
from cliffwatch_service.command.app import create_app
from cliffwatch_service.command.failures import ending_on_refusal
from cliffwatch_service.command.listening import bind_sockets, cannot_listen
from cliffwatch_service.http.context import Rates, Service
from cliffwatch_service.http.large import LargeWork
from cliffwatch_service.http.server import server_config
from cliffwatch_service.jobs.leases import keep_leases
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.postgres.server import Postgres, postgres
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.logs import set_up_logs
from cliffwatch_service.runtime.memory import limit_malloc_arenas, make_collections_rare
from cliffwatch_service.runtime.settings import Settings, read_settings
from cliffwatch_service.tasks.process import task_process
from cliffwatch_service.web.layout.session import session_key

_BESIDE_THE_DATABASE = 4
"""Threads besides one per database connection. More would only wait and compete with the event loop."""

_SWITCH_SECONDS = 0.001
"""Time after which a computing thread yields to the event loop. Python's default is five times as long."""


def serve_at(host: str, port: int, data_dir: Path | None, *, tasks: bool) -> NoReturn:
    """Serves until SIGTERM, SIGINT or SIGHUP, then exits."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _exit_on_signal)
    with ending_on_refusal():
        taken = bind_sockets(host, port)
        settings = read_settings(data_dir=data_dir)
        set_up_logs(json=not sys.stderr.isatty(), colour=not terminal.wants_no_colour())
        try:
            with (
                _closing(taken),
                postgres(settings) as database,
                database.embedded.kept() if database.embedded else nullcontext(),
            ):
                _serve(settings, database, taken, tasks=tasks)
        except _AddressInUse as error:
            raise cannot_listen(host, port, error.cause) from None
    raise SystemExit(Exit.DONE)


def _exit_on_signal(*_: object) -> NoReturn:
    """Ends the process by an exception, so that everything that has started is closed in order.

    Uvicorn finishes open requests first, then passes its signals on to this handler.
    """
    raise SystemExit(Exit.DONE)


@contextmanager
def _closing(taken: tuple[socket.socket, ...]) -> Iterator[None]:
    try:
        yield
    finally:
        for each in taken:
            each.close()


class _AddressInUse(Exception):
    """Another program took the address while the service was starting."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _serve(settings: Settings, database: Postgres, taken: tuple[socket.socket, ...], *, tasks: bool) -> None:
    limit_malloc_arenas()
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
        app = create_app(service, large)
        config = server_config(app, settings)
        make_collections_rare()
        sys.setswitchinterval(_SWITCH_SECONDS)
        # Seconds of work, which neither the first request for the description nor the start should wait for.
        Thread(target=app.openapi, name="description", daemon=True).start()
        with task_process(settings, database.url) if tasks else nullcontext():
            asyncio.run(
                _AnnouncingServer(config, database.where, settings.connections + _BESIDE_THE_DATABASE).serve(
                    sockets=list(taken)
                )
            )
    finally:
        large.close()
        pool.close()


def _allow_open_files() -> None:
    """Raises the limit of open files to the highest allowed, because each connection needs one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _AnnouncingServer(uvicorn.Server):
    """A server that prints its URL when it is ready. `where` describes the database."""

    def __init__(self, config: uvicorn.Config, where: str, threads: int) -> None:
        super().__init__(config)
        self._where, self._threads = where, threads

    async def startup(self, sockets: Any = None) -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = self._threads
        try:
            await super().startup(sockets)
        except OSError as error:
            raise _AddressInUse(error) from error
        if self.started:
            address, port = self.servers[0].sockets[0].getsockname()[:2]
            click.echo(f"Cliffwatch at http://{address}:{port}, on {self._where}", err=True)
