"""The units are what systemd takes, and as closed as docs/host.md says; a sandbox can be made with the rights
that they leave.
"""

import ctypes.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from folder_hosts import Command

from cliffwatch_runner.sandbox.namespaces import bubblewrap_refusal
from cliffwatch_runner.sandbox.sandbox import HOME, Sandbox
from cliffwatch_runner.worker.installation.files import DOCTOR_UNIT, TIMER, WORKER_UNIT

EXPOSURE = {"icount": 3.5, "walltime": 7.0}
"""What docs/host.md says, of 10 (systemd-analyze of 252 and of 257 agree)."""

pytestmark = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed: make test-programs"
)


@pytest.fixture(params=["icount", "walltime"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def host(install: Command, root: Path, mode: str, tmp_path: Path) -> Path:
    """A host with Cliffwatch installed, so that the program of the units is there."""
    program = tmp_path / "cliffwatch"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert install(mode=mode, program=str(program)).exit_code == 0
    return root


def analyze(*words: object) -> "subprocess.CompletedProcess[str]":
    argv = ["systemd-analyze", "--no-pager", *map(str, words)]
    env = {**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"}
    return subprocess.run(argv, capture_output=True, text=True, env=env, check=False)


def below(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def version() -> int:
    found = re.search(r"systemd (\d+)", analyze("--version").stdout)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("unit", [WORKER_UNIT, DOCTOR_UNIT, TIMER], ids=lambda path: path.name)
def test_systemd_takes_every_line_of_a_unit(host: Path, unit: Path) -> None:
    ended = analyze("verify", "--man=no", below(host, unit))

    said = [
        line for line in ended.stderr.splitlines() if version() >= 254 or "'DelegateSubgroup'" not in line
    ]
    assert (ended.returncode, said) == (0, [])


@pytest.mark.parametrize("unit", [WORKER_UNIT, DOCTOR_UNIT], ids=lambda path: path.name)
def test_a_unit_is_as_closed_as_the_documents_say(host: Path, mode: str, unit: Path) -> None:
    ended = analyze("security", "--offline=yes", f"--threshold={EXPOSURE[mode] * 10:.0f}", below(host, unit))

    assert ended.returncode == 0, ended.stdout
    page = (Path(__file__).parents[2] / "docs/host.md").read_text()
    assert f"{EXPOSURE[mode]} ({mode})" in page


def test_systemd_makes_the_user(host: Path) -> None:
    if shutil.which("systemd-sysusers") is None:
        pytest.skip("systemd-sysusers is not installed: make test-programs")

    ended = subprocess.run(
        ["systemd-sysusers", "--dry-run", f"--root={host}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "Creating user 'cliffwatch' (Cliffwatch worker)" in ended.stderr


def setting(unit: Path, name: str) -> str:
    return next(
        line.partition("=")[2] for line in unit.read_text().splitlines() if line.startswith(f"{name}=")
    )


@pytest.mark.parametrize("mode", ["icount"], indirect=True)
def test_a_sandbox_is_made_with_the_system_calls_that_the_unit_allows(host: Path) -> None:
    """And not without the mounts: the list is in force."""
    refusal = bubblewrap_refusal()
    if refusal is not None or ctypes.util.find_library("seccomp") is None:
        pytest.skip(f"there is no bubblewrap or no libseccomp that works here: {refusal}")
    words = setting(below(host, WORKER_UNIT), "SystemCallFilter")
    sandbox = Sandbox(level="bubblewrap", user=None)
    argv = sandbox.argv(["sh", "-c", "echo made"], env={"PATH": "/usr/bin:/bin"}, mounts=(), workdir=HOME)

    ended = [within(each, argv) for each in (words, words.replace("@mount", ""))]

    assert (ended[0].returncode, ended[0].stdout) == (0, "made\n"), ended[0].stderr
    assert ended[1].returncode != 0
    assert "Operation not permitted" in ended[1].stderr


def within(words: str, argv: list[str]) -> "subprocess.CompletedProcess[str]":
    launcher = [sys.executable, str(Path(__file__).with_name("within_calls.py")), words]
    nobody = [
        "setpriv",
        "--reuid=64750",
        "--regid=64750",
        "--clear-groups",
        "--bounding-set=-all",
        "--inh-caps=-all",
    ]
    as_user = nobody if os.geteuid() == 0 else []
    return subprocess.run([*launcher, *as_user, *argv], capture_output=True, text=True, check=False)
