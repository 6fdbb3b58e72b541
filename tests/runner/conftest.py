"""Fixtures of the runner's tests."""

from pathlib import Path

import pytest
import toy


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guests are played by tests/fakevng, in the same isolation and with the same folders as real ones."""
    toy.play_guests(monkeypatch)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return toy.toy_repository(tmp_path)
