"""Fixtures of the service's tests: a real PostgreSQL, and the service on it over real HTTP."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy
from service_running import Clock, Running, fresh_database, serving

from cliffwatch_runner.worker.host import WorkerHost
from cliffwatch_runner.worker.limits import JobLimits
from cliffwatch_service.postgres.embedded import EmbeddedPostgres
from cliffwatch_service.runtime.settings import Settings


@pytest.fixture
def empty_database(cluster: EmbeddedPostgres) -> Iterator[str]:
    """The URL of a database without any schema."""
    yield from fresh_database(cluster, "template0")


@pytest.fixture
def unused_tcp_url() -> str:
    """Where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def git_port() -> int:
    """Where the test's git server listens, if it has one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def served(tmp_path: Path, git_port: int) -> Iterator[tuple[str, Path]]:
    """A toy tree and its URL at a git server, which the service's settings allow."""
    repository = toy.toy_repository(tmp_path / "served")
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
            f"--port={git_port}",
            f"--base-path={repository.parent}",
            "--verbose",
            "--log-destination=stderr",
        ],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert daemon.stderr is not None
    assert b"Ready" in daemon.stderr.readline()
    yield f"git://127.0.0.1:{git_port}/linux", repository
    os.killpg(daemon.pid, 15)
    daemon.stderr.close()
    daemon.wait()


@pytest.fixture
def served_tree(served: tuple[str, Path]) -> tuple[str, Path]:
    """The toy tree and its URL, where `served` means a service."""
    return served


STAND_IN = Path(__file__).with_name("stand_in_command.py")


@pytest.fixture
def host(tmp_path: Path) -> WorkerHost:
    (tmp_path / "cache").mkdir()
    return WorkerHost(
        name="emulator-1",
        platform="emulated-x86-64",
        modes=("icount",),
        cache=tmp_path / "cache",
        command=(sys.executable, str(STAND_IN)),
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        limits=JobLimits(free_disk=0, free_memory=0),
        about={"doctor": {"verdict": "This host is fit for icount runs.", "checks": []}},
    )


@pytest.fixture
def settings(tmp_path: Path, git_port: int) -> Settings:
    return Settings(data_dir=tmp_path, requests_per_minute=100_000, trees=(f"git://127.0.0.1:{git_port}/",))


@pytest.fixture
def running(database: str, settings: Settings) -> Iterator[Running]:
    with serving(database, settings, Clock()) as running:
        yield running
