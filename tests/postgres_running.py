"""Fixtures of a real PostgreSQL, and of fresh databases on it."""

from collections.abc import Iterator

import psycopg
import pytest
from service_running import fresh_database

from cliffwatch_service.postgres.embedded import EmbeddedPostgres, start_embedded
from cliffwatch_service.postgres.migrate import migrate


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


@pytest.fixture
def database(cluster: EmbeddedPostgres) -> Iterator[str]:
    """The URL of a fresh database with the current schema."""
    yield from fresh_database(cluster, "cliffwatch")
