"""A `cliffwatch serve` of one's own, with a token, on the embedded PostgreSQL."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg

COMMAND = str(Path(sys.executable).with_name("cliffwatch"))


@dataclass(frozen=True)
class Served:
    """A service that listens at `url`. `pid` is its process; `database` the address of its PostgreSQL."""

    url: str
    token: str
    database: str
    pid: int
    data_dir: Path

    def http(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=120)

    def rows(self, query: str) -> list[Any]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(query).fetchall()


def environment(data_dir: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name != "DATABASE_URL" and not name.startswith("CLIFFWATCH")
    }
    unlimited = {
        "CLIFFWATCH_REQUESTS_PER_MINUTE": "10000000",
        "CLIFFWATCH_RUNS_PER_DAY": "10000000",
        "CLIFFWATCH_UPLOAD_BYTES_PER_DAY": str(1 << 50),
    }
    return {**kept, **unlimited, "CLIFFWATCH_DATA_DIR": str(data_dir)}


@contextmanager
def served(data_dir: Path, *, token: str | None = None, **settings: str) -> Iterator[Served]:
    """Serves from `data_dir` until the end; makes a token unless one is given."""
    env = {**environment(data_dir), **settings}
    with (data_dir / "serve.log").open("a") as log:
        process = subprocess.Popen(
            [COMMAND, "serve", "--port", "0"], env=env, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        try:
            url = address_said(process, log)
            drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=log)
            secret = token or _token(env)
            yield Served(url, secret, _database(data_dir), process.pid, data_dir)
        finally:
            process.terminate()
            process.wait(60)
            drain.wait(10)
            process.stderr.close()


def address_said(process: "subprocess.Popen[str]", log: Any) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        log.write(line)
        if line.startswith("Cliffwatch at "):
            return line.split()[2].rstrip(",")
    raise RuntimeError(f"the service ended with {process.wait()}; see {log.name}")


def _token(env: dict[str, str]) -> str:
    name = f"load {os.getpid()}"
    made = subprocess.run(
        [COMMAND, "token", "make", name, "--scope", "admin"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.strip()


def _database(data_dir: Path) -> str:
    info = (data_dir / "postgresql/postmaster.pid").read_text().splitlines()
    return f"postgresql://postgres:@/cliffwatch?host={info[4]}"
