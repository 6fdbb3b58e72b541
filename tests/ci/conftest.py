"""The toy tree and its guest, as the runner's tests have them; GitHub and a service, played and real."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import toy
from github_stand_in.server import StandIn, stand_in
from measured_artifact import measured, pull, tree
from service_running import Clock, Running, serving

from cliffwatch_runner.run import build, measure
from cliffwatch_service.runtime.settings import Settings

__all__ = ["measured", "pull", "tree"]

NOW = 1_790_000_000.0


@pytest.fixture
def stand_in_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guests are played by tests/fakevng."""
    monkeypatch.setattr(measure, "guest_programs", lambda: (toy.FAKEVNG,))
    monkeypatch.setattr(build, "_NEEDED_BYTES", 0)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return toy.toy_repository(tmp_path)


@pytest.fixture
def github() -> Iterator[StandIn]:
    with stand_in(lambda: NOW) as running:
        yield running


@pytest.fixture
def service(database: str, tmp_path: Path) -> Iterator[Running]:
    with serving(database, Settings(data_dir=tmp_path / "data"), Clock()) as running:
        yield running
