"""`make demo SUITE=NAME`: which kernels a suite of the catalogue is shown on, and what is said of one that there is not."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cliffwatch.catalogue.load import load_catalogue

ROOT = Path(__file__).parents[2]


def demo(folder: Path, suite: str | None) -> subprocess.CompletedProcess[str]:
    """The demo with a `cliffwatch` that prints what it is asked for."""
    program = folder / "cliffwatch"
    program.write_text('#!/bin/sh\necho "$*"\n')
    program.chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name not in ("SUITE", "DEMO_OUT", "ISOLATION")}
    env |= {"CLIFFWATCH": str(program)} | ({} if suite is None else {"SUITE": suite})
    words = [str(ROOT / "tools/demo.sh"), str(folder)]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("suite", [None, "local-storage", "local-storage-create"])
def test_what_the_patch_moves_is_measured_with_and_without_it(tmp_path: Path, suite: str | None) -> None:
    shown = demo(tmp_path, suite).stdout

    assert "--base HEAD --head HEAD --patch examples/uninline-local-storage-lookup.patch" in shown
    assert f"--suite {suite or 'local-storage'} --profile smoke" in shown


def test_another_suite_is_measured_on_the_same_kernel_twice(tmp_path: Path) -> None:
    shown = demo(tmp_path, "percpu-traversal").stdout

    assert "percpu-traversal is measured on the same kernel twice" in shown
    assert "--suite percpu-traversal --profile smoke --mode icount" in shown
    assert "--patch" not in shown


@pytest.mark.parametrize("suite", ["percpu", "", "../suites/local-storage", "all"])
def test_a_suite_that_there_is_not_is_told_with_those_that_there_are(tmp_path: Path, suite: str) -> None:
    ended = subprocess.run([ROOT / "tools/demo_suite.sh", suite], capture_output=True, text=True, check=False)

    assert ended.returncode == 2
    assert f"there is no suite '{suite}'" in ended.stderr
    for known in load_catalogue().suites:
        assert f" {known.name}" in ended.stderr
    if suite:
        assert demo(tmp_path, suite).returncode == 2


def test_make_asks_for_the_suite_before_it_installs_anything() -> None:
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    # Tests may be started by make themselves, which says so to every make below it.
    outside = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    argv = ["make", "--dry-run", "demo", "SUITE=nope"]
    shown = subprocess.run(argv, cwd=ROOT, env=outside, capture_output=True, text=True, check=True)

    assert shown.stdout.splitlines()[0] == 'tools/demo_suite.sh "nope"'
