"""Fixtures of the service's tests: a real PostgreSQL, and the service on it over real HTTP."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
import uvicorn

from cliffwatch_runner.client import Client, Patience
from cliffwatch_runner.worker.job import Host
from cliffwatch_runner.worker.limits import Limits
from cliffwatch_service.access import make_token
from cliffwatch_service.app import create_app
from cliffwatch_service.database import open_pool
from cliffwatch_service.embedded import EmbeddedPostgres, start_embedded
from cliffwatch_service.http.context import Rates, Service
from cliffwatch_service.migrating import migrate
from cliffwatch_service.settings import Settings
from cliffwatch_service.task_process import work

sys.path.insert(0, str(Path(__file__).parents[1] / "runner"))
import toy


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """One PostgreSQL a test process. What it loses in a crash nobody needs, so it does not wait for the disk."""
    postgres = start_embedded(tmp_path_factory.mktemp("postgres"))
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET synchronous_commit = off")
        connection.execute("SELECT pg_reload_conf()")
    migrate(postgres.url)
    yield postgres
    postgres.stop()


def database_url(cluster: EmbeddedPostgres, name: str) -> str:
    return cluster.url.replace("/cliffwatch?", f"/{name}?")


@pytest.fixture
def empty_database(cluster: EmbeddedPostgres) -> Iterator[str]:
    """The URL of a database without any schema."""
    yield from _database(cluster, "template0")


@pytest.fixture
def database(cluster: EmbeddedPostgres) -> Iterator[str]:
    """The URL of a fresh database with the current schema."""
    yield from _database(cluster, "cliffwatch")


def _database(cluster: EmbeddedPostgres, template: str) -> Iterator[str]:
    name = f"t{uuid.uuid4().hex[:12]}"
    with psycopg.connect(database_url(cluster, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield database_url(cluster, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def unused_tcp_url() -> str:
    """Where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A toy tree and its URL at a git server."""
    repository = toy.toy_repository(tmp_path / "served")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemon = subprocess.Popen(
        [
            "git",
            "-c",
            "uploadpack.allowAnySHA1InWant=true",
            "-c",
            "safe.directory=*",
            "daemon",
            "--export-all",
            "--reuseaddr",
            "--listen=127.0.0.1",
            f"--port={port}",
            f"--base-path={repository.parent}",
            "--verbose",
            "--log-destination=stderr",
        ],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert daemon.stderr is not None
    assert b"Ready" in daemon.stderr.readline()
    yield f"git://127.0.0.1:{port}/linux", repository
    os.killpg(daemon.pid, 15)
    daemon.stderr.close()
    daemon.wait()


@pytest.fixture
def served_tree(served: tuple[str, Path]) -> tuple[str, Path]:
    """The toy tree and its URL, where `served` means a service."""
    return served


STAND_IN = Path(__file__).with_name("stand_in_command.py")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "cache").mkdir()
    return Host(
        name="emulator-1",
        platform="emulated-x86-64",
        modes=("icount",),
        cache=tmp_path / "cache",
        command=(sys.executable, str(STAND_IN)),
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        limits=Limits(free_disk=0, free_memory=0),
    )


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
        return httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=30)

    def get(self, path: str, scope: str | None = None, **params: Any) -> Any:
        with self.http(scope) as http:
            return http.get(f"/api/v1{path}", params=params).raise_for_status().json()

    def rows(self, query: str) -> list[dict[str, Any]]:
        with self.service.transaction() as connection:
            return connection.execute(query).fetchall()

    def do_tasks(self) -> None:
        """Every background task that waits now."""
        asyncio.run(work(self.database, self.service.settings, forever=False, now=self.clock.now))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, requests_per_minute=100_000)


@pytest.fixture
def running(database: str, settings: Settings) -> Iterator[Running]:
    clock = Clock()
    pool = open_pool(database, connections=6, statement_seconds=10)
    service = Service(
        settings=settings, pool=pool, now=clock.now, rates=Rates(settings.requests_per_minute), session_key="k" * 40
    )
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
    assert ready.wait(30)
    port = server.servers[0].sockets[0].getsockname()[1]
    running = Running(f"http://127.0.0.1:{port}", database, service, clock, tokens)
    yield running
    for client in running.clients:
        client.close()
    server.should_exit = True
    thread.join()
    pool.close()
