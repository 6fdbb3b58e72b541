"""What every test may use."""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from isolation_here import FORBIDDEN, ISOLATION
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# A busy machine is no failure; CI draws the same examples every time, so that a change fails for its own
# sake, and more of them would be the same again: --hypothesis-profile=thorough looks further.
settings.register_profile("steady", deadline=None, max_examples=30, derandomize=bool(os.environ.get("CI")))
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("steady")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What needs a wall between a tree and the host is left out where somebody said that there
    can be none.
    """
    if ISOLATION == "none" and item.get_closest_marker("namespaces") is not None:
        pytest.skip(FORBIDDEN)


@pytest.fixture
def data() -> Path:
    """The folder of recorded outputs."""
    return Path(__file__).parent / "data"


@contextmanager
def opened_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cliffwatch-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder to which every user gets, which pytest's own are not."""
    with opened_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """One PostgreSQL a test process. As root its server is another user's, and pytest closes its folders to
    others whenever it starts.
    """
    from postgres_running import running_postgres  # noqa: PLC0415 - a second, for those who need it

    with opened_folder() as folder, running_postgres(folder) as postgres:
        yield postgres


@pytest.fixture(scope="session")
def databases(cluster: Any) -> Iterator[Any]:
    """Databases of this test process, one after the other."""
    from postgres_running import Databases  # noqa: PLC0415

    databases = Databases(cluster)
    yield databases
    databases.drop()


@pytest.fixture
def database(databases: Any) -> Iterator[str]:
    """The URL of a database with the current schema and nothing else in it."""
    yield databases.take()
    databases.give_back()


@pytest.fixture(scope="session")
def kept_demonstration(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The demonstration, to be copied; filled once for all processes of xdist, whose own folders
    lie in one.
    """
    from demonstration_kept import kept_demonstration  # noqa: PLC0415

    own = tmp_path_factory.getbasetemp()
    yield from kept_demonstration(cluster, own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(scope="session")
def demonstration(kept_demonstration: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The demonstration, served. Tests that write to it use a service of their own."""
    yield from kept_demonstration.served(tmp_path_factory.mktemp("demonstration"))


class SlowStartsOnce(LoadScopeScheduling):
    """Each test goes to the process that is free, but for those that belong together: builds of kernels wait
    for each other, so that two of them would keep two processes from everything else, and one bomb at a
    time is what a host is promised to bear, with nobody else filling its disk. What takes seconds to start
    is started in one process: a browser for each module, the dashboards' database. (xdist_group is without
    effect since pytest 9.)
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(("tests/kernel/", "tests/hostile/test_limits.py")):
            return "kernels"
        if nodeid.startswith("tests/dashboards/"):
            return "dashboards"
        return super()._split_scope(nodeid) if nodeid.startswith("tests/service/pages/") else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return SlowStartsOnce(config, log)


_seconds: "Counter[str]" = Counter()
"""What tests took, by folder."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[str(Path(report.nodeid.partition("::")[0]).parent)] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("seconds by folder", sep="=")
    for folder, seconds in _seconds.most_common():
        if seconds >= 1:
            terminalreporter.write_line(f"{seconds:7.0f}  {folder}")
