"""The demonstration, served, and the database's role of dashboards on it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from dashboards_read import ROLE
from service_running import Clock, Running, fresh_database, serving

from cliffwatch_service.command.demonstration.filling import fill
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.runtime.settings import Settings

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)


@pytest.fixture(scope="session")
def demonstration(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    for url in fresh_database(cluster, "cliffwatch"):
        pool = open_pool(url, connections=2, statement_seconds=60)
        with pool.connection() as connection:
            fill(connection, NOW, lambda _: None)
        pool.close()
        clock = Clock()
        clock.moment = NOW
        settings = Settings(data_dir=tmp_path_factory.mktemp("demonstration"), requests_per_minute=1_000_000)
        with serving(url, settings, clock) as running:
            yield running


@pytest.fixture(scope="session")
def reading(demonstration: Running) -> Iterator[psycopg.Connection[Any]]:
    """What Grafana's connections may do on it."""
    with psycopg.connect(demonstration.database, autocommit=True) as connection:
        connection.execute("INSERT INTO dashboard.pages (url) VALUES (%s)", [demonstration.url + "/"])
        connection.execute(f"SET ROLE {ROLE}")
        connection.execute("SET default_transaction_read_only = on")
        yield connection
