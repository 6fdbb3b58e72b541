"""Fixtures of the runner's tests."""

from pathlib import Path

import pytest
import toy
import toy_audit
from click.testing import Result


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guests are played by tests/fakevng, in the same isolation and with the same folders as real ones."""
    toy.play_guests(monkeypatch)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return toy.toy_repository(tmp_path)


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """An audit of the three releases of the toy tree, and its folder. Tests copy what they change."""
    folder = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patched:
        toy.play_guests(patched)
        return toy_audit.audit(toy_audit.three_releases(toy.toy_repository(folder)), folder), folder / "out"
