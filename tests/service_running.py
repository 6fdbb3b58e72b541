"""A service on a real PostgreSQL, over real HTTP, on a clock that is moved by hand."""

import asyncio
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import psycopg
import uvicorn

from cliffwatch_runner.client import Client, Patience
from cliffwatch_service.access import make_token
from cliffwatch_service.app import create_app
from cliffwatch_service.database import open_pool
from cliffwatch_service.embedded import EmbeddedPostgres
from cliffwatch_service.http.context import Rates, Service
from cliffwatch_service.settings import Settings
from cliffwatch_service.store import queue
from cliffwatch_service.task_process import work


def database_url(cluster: EmbeddedPostgres, name: str) -> str:
    return cluster.url.replace("/cliffwatch?", f"/{name}?")


def fresh_database(cluster: EmbeddedPostgres, template: str) -> Iterator[str]:
    name = f"t{uuid.uuid4().hex[:12]}"
    with psycopg.connect(database_url(cluster, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield database_url(cluster, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


class Clock:
    """The service's clock, moved by hand."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def pass_(self, **time: float) -> None:
        self.moment += timedelta(**time)


@dataclass(frozen=True)
class Running:
    """A service that listens. `tokens` are secrets by scope; `admin` may do everything."""

    url: str
    database: str
    service: Service
    clock: Clock
    tokens: dict[str, str]
    clients: list[Client] = field(default_factory=list)

    def client(self, scope: str | None = "admin") -> Client:
        token = None if scope is None else self.tokens[scope]
        self.clients.append(Client(self.url, token, patience=Patience(tries=1)))
        return self.clients[-1]

    def http(self, scope: str | None = "admin") -> httpx2.Client:
        headers = {} if scope is None else {"Authorization": f"Bearer {self.tokens[scope]}"}
        return httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=300)

    def get(self, path: str, scope: str | None = None, **params: Any) -> Any:
        with self.http(scope) as http:
            return http.get(f"/api/v1{path}", params=params).raise_for_status().json()

    def rows(self, query: str) -> list[dict[str, Any]]:
        with self.service.transaction() as connection:
            return connection.execute(query).fetchall()

    def enrol(self, platform: str, *modes: str) -> None:
        """Makes sure that a host of a platform has once offered to work, so that something can be asked of it."""
        name = {"amd-rome": "rome-1", "intel-skylake": "skylake-1", "emulated-x86-64": "emulator-1"}.get(
            platform, platform
        )
        if self.rows(f"SELECT id FROM host WHERE name = '{name}' AND about ? 'modes'"):
            return
        long_ago = self.clock.now() - timedelta(days=1)
        with self.service.transaction() as connection:
            queue.keep_host(connection, name, platform, {"modes": modes or ("walltime", "icount")}, long_ago)

    def do_tasks(self) -> None:
        """Every background task that waits now. In a thread of its own: a browser's loop may run in this one."""
        failed: list[BaseException] = []

        def work_off() -> None:
            try:
                asyncio.run(work(self.database, self.service.settings, forever=False, now=self.clock.now))
            except BaseException as error:  # noqa: BLE001 - told below
                failed.append(error)

        beside = threading.Thread(target=work_off)
        beside.start()
        beside.join()
        if failed:
            raise failed[0]


@contextmanager
def serving(database: str, settings: Settings, clock: Clock) -> Iterator[Running]:
    """A service on this database, listening at a free port, with a token of each scope."""
    pool = open_pool(database, connections=6, statement_seconds=120)
    rates = Rates(settings.requests_per_minute)
    service = Service(settings=settings, pool=pool, now=clock.now, rates=rates, session_key="k" * 40)
    scopes = ("read", "upload", "work", "triage", "admin")
    with service.transaction() as connection:
        tokens = {scope: make_token(connection, scope, [scope], by="test", now=clock.now()) for scope in scopes}
    server = uvicorn.Server(uvicorn.Config(create_app(service), port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run)
    ready = threading.Event()
    startup = server.startup

    async def told(sockets: Any = None) -> None:
        await startup(sockets)
        ready.set()

    server.startup = told  # type: ignore[method-assign]
    thread.start()
    assert ready.wait(300)
    port = server.servers[0].sockets[0].getsockname()[1]
    running = Running(f"http://127.0.0.1:{port}", database, service, clock, tokens)
    try:
        yield running
    finally:
        for client in running.clients:
            client.close()
        server.should_exit = True
        thread.join()
        pool.close()
