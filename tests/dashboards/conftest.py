"""The demonstration, served, and the database's role of dashboards on it."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from grafana_panels.lived_in import open_as_grafana
from service_running import Running


@pytest.fixture(scope="session")
def reading(demonstration: Running) -> Iterator[psycopg.Connection[Any]]:
    """What Grafana's connections may do on it."""
    with open_as_grafana(demonstration.database, demonstration.url + "/") as connection:
        yield connection
