"""The demonstration's database: filled once by `cliffwatch demo-data`, half a minute of work, for all
processes of a test run.
"""

import fcntl
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import psycopg
from click.testing import CliRunner
from postgres_running import Content, content_of, put_content
from service_running import Clock, Running, fresh_database, serving

from cliffwatch.command.main import main
from cliffwatch_service.postgres.embedded import EmbeddedPostgres
from cliffwatch_service.runtime import clock
from cliffwatch_service.runtime.settings import Settings

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
"""When it is filled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What the command said, and what it stored."""

    exit_code: int
    said: str
    content: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A database of this process's PostgreSQL that holds the demonstration, to be copied, and what the
    command said of it.
    """

    cluster: EmbeddedPostgres
    template: str
    filled: Filled

    def copied(self) -> Iterator[str]:
        """The URL of a copy, which may be written to."""
        return fresh_database(self.cluster, self.template)

    def served(self, data_dir: Path) -> Iterator[Running]:
        """A service on a copy, at the time when it was filled."""
        for url in self.copied():
            moment = Clock()
            moment.moment = NOW
            settings = Settings(data_dir=data_dir, requests_per_minute=1_000_000)
            with serving(url, settings, moment) as running:
                yield running


def kept_demonstration(cluster: EmbeddedPostgres, shared: Path) -> Iterator[Demonstration]:
    """The process that comes first fills it and writes it to the folder that all share; those who come
    meanwhile wait for it.
    """
    for url in fresh_database(cluster, "cliffwatch"):
        kept = shared / "demonstration"
        with (shared / "demonstration.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if kept.exists():
                filled = pickle.loads(kept.read_bytes())
                with psycopg.connect(url) as connection:
                    put_content(connection, filled.content)
            else:
                filled = _filled(url, shared)
                kept.write_bytes(pickle.dumps(filled))
        yield Demonstration(
            cluster=cluster, template=psycopg.conninfo.conninfo_to_dict(url)["dbname"], filled=filled
        )


def _filled(url: str, data_dir: Path) -> Filled:
    env = {"DATABASE_URL": url, "CLIFFWATCH_DATA_DIR": str(data_dir)}
    with mock.patch.object(clock, "now", return_value=NOW):
        ended = CliRunner().invoke(main, ["demo-data"], env=env, catch_exceptions=False)
    with psycopg.connect(url) as connection:
        return Filled(exit_code=ended.exit_code, said=ended.stderr, content=content_of(connection))
