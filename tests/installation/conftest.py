"""A host that is a folder, and the command that installs a worker there."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from folder_hosts import SECRET, Command

from cliffwatch.command.main import main


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "rome-1.token"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir(mode=0o755)
    return folder


@pytest.fixture
def install(token: Path, root: Path) -> Command:
    """`cliffwatch host install` into the folder; options are given by name, and None leaves one out."""

    def invoke(*more: str, **named: str | None) -> Result:
        options: Mapping[str, str | None] = {
            "url": "https://bench.example.org",
            "platform": "amd-rome",
            "mode": "walltime",
            "name": "rome-1",
            "program": "/opt/cliffwatch/.venv/bin/cliffwatch",
            "token_file": str(token),
            "root": str(root),
            **named,
        }
        words = [
            word
            for name, value in options.items()
            if value
            for word in (f"--{name.replace('_', '-')}", value)
        ]
        return CliRunner().invoke(main, ["host", "install", *words, *more], catch_exceptions=False)

    return invoke


@pytest.fixture
def remove(root: Path) -> Command:
    def invoke(*more: str) -> Result:
        return CliRunner().invoke(
            main, ["host", "remove", "--root", str(root), *more], catch_exceptions=False
        )

    return invoke
