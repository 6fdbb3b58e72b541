"""What hostile tests of the service need: the service itself, on a real PostgreSQL, over real HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service_running import Clock, Running, serving

from cliffwatch_service.runtime.settings import Settings

__all__ = ["running", "serve_with", "settings"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, requests_per_minute=100_000)


@pytest.fixture
def running(database: str, settings: Settings) -> Iterator[Running]:
    with serving(database, settings, Clock()) as running:
        yield running


@pytest.fixture
def serve_with(database: str, tmp_path: Path) -> Any:
    """A service with settings of the test's own."""
    return lambda **given: serving(
        database, Settings(**{"data_dir": tmp_path, "requests_per_minute": 100_000, **given}), Clock()
    )
