"""Runs that compare versions of a Go module."""

from pathlib import Path

import pytest
from click.testing import Result
from isolation_here import ISOLATION, leave_out_root
from run_command import cliffwatch
from stepping_suite import proxy_environment, write_suite

from cliffwatch.catalogue.suite import Program, Suite


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite whose program is built with a module of which there are two versions."""
    for name, value in proxy_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return write_suite(tmp_path / "stepping", "%d steps", 'steps = { unit = "steps", better = "lower" }')


def go_suite(folder: Path) -> Suite:
    return Suite(
        name=folder.name,
        title="",
        about="",
        config=(),
        metrics={},
        lengths={},
        benchmarks=(),
        source_file=folder / "suite.toml",
        program=Program(build="go build", run="x", files=(), output="go-bench"),
    )


def run(repository: Path, suite: Path, *arms: str, form: str = "json", trust: str = "local") -> Result:
    leave_out_root()
    named = [word for arm in arms for word in ("--arm", arm)]
    folders = ["--cache", repository.parent / "cache", "--out", repository.parent / "results"]
    plain = [
        "run",
        "--tree",
        repository,
        "--mode",
        "icount",
        "--boots",
        1,
        *folders,
        "--isolation",
        ISOLATION,
    ]
    return cliffwatch(*plain, "--suite", suite, *named, "--format", form, "--trust", trust)
