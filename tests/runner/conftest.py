"""Fixtures of the runner's tests."""

from pathlib import Path

import pytest
import toy

from cliffwatch_runner.host import programs
from cliffwatch_runner.run import build, measure


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guests are played by tests/fakevng, in the same isolation and with the same folders as real ones."""
    monkeypatch.setattr(measure, "guest_programs", lambda: (toy.FAKEVNG,))
    # Space and the free memory of this machine are no matter of a toy kernel.
    monkeypatch.setattr(build, "_NEEDED_BYTES", 0)
    assert programs.find_udev() is not None, "install udev: make packages"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return toy.toy_repository(tmp_path)
