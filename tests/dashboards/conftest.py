"""The demonstration, served, and the database's role of dashboards on it."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from dashboards_read import ROLE
from service_running import Running


@pytest.fixture(scope="session")
def reading(demonstration: Running) -> Iterator[psycopg.Connection[Any]]:
    """What Grafana's connections may do on it."""
    with psycopg.connect(demonstration.database, autocommit=True) as connection:
        connection.execute("INSERT INTO dashboard.pages (url) VALUES (%s)", [demonstration.url + "/"])
        connection.execute(f"SET ROLE {ROLE}")
        connection.execute("SET default_transaction_read_only = on")
        yield connection
