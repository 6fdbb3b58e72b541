"""What every test may use."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

sys.path.insert(0, str(Path(__file__).parent))

from isolation_here import FORBIDDEN, ISOLATION

# A busy machine is no failure; CI draws the same examples every time, so that a change fails for its own sake.
settings.register_profile("steady", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("steady")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What needs a wall between a tree and the host is left out where somebody said that there can be none."""
    if ISOLATION == "none" and item.get_closest_marker("namespaces") is not None:
        pytest.skip(FORBIDDEN)


@pytest.fixture
def data() -> Path:
    """The folder of recorded outputs."""
    return Path(__file__).parent / "data"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder to which every user gets, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="cliffwatch-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


class KernelsInTurn(LoadScopeScheduling):
    """Builds of kernels wait for each other, so that two of them would keep two processes from everything else; and one
    bomb at a time is what a host is promised to bear, with nobody else filling its disk. (xdist_group is without effect since pytest 9.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return "kernels" if nodeid.startswith(("tests/kernel/", "tests/hostile/test_limits.py")) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return KernelsInTurn(config, log)
