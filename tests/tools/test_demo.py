"""`make demo SUITE=NAME`: which kernels a suite of the catalogue is shown on, and what is said of one that
there is not.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cliffwatch.catalogue.load import load_catalogue

ROOT = Path(__file__).parents[2]
USER_SETTINGS = ("SUITE", "DEMO_OUT", "ISOLATION", "QUICK", "KERNEL")


def demo(folder: Path, suite: str | None, **settings: str) -> subprocess.CompletedProcess[str]:
    """The demo with a `cliffwatch` that prints what it is asked for."""
    program = folder / "cliffwatch"
    program.write_text('#!/bin/sh\necho "$*"\n')
    program.chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name not in USER_SETTINGS}
    env |= {"CLIFFWATCH": str(program)} | ({} if suite is None else {"SUITE": suite}) | settings
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


def test_the_quick_one_boots_a_kernel_that_is_there_with_and_without_hardened_programs(
    tmp_path: Path,
) -> None:
    shown = demo(tmp_path, None, QUICK="1", KERNEL="/kernels/linux.deb").stdout

    assert "head the same with BPF programs hardened" in shown
    assert (
        "--arm base=kernel=/kernels/linux.deb --arm head=kernel=/kernels/linux.deb"
        " sysctl=net.core.bpf_jit_harden=2" in shown
    )
    assert (
        "--bench-from HEAD --case nr_maps=16 --case *nr_keys_used=10 --suite local-storage --profile smoke"
        in shown
    )
    assert "--patch" not in shown


def apt(folder: Path, packages: str, fetched: str) -> None:
    """Programs of apt that offer these packages and fetch one, or say why not."""
    depends = f'case $2 in linux-image*) echo "  Depends: {packages}" ;; esac'
    programs = {
        "apt-cache": f'case $1 in depends) {depends} ;; policy) echo "  Candidate: 1:6.12-1" ;; esac',
        "apt-get": (
            f'[ -n "{fetched}" ] || {{ echo "E: no network" >&2; exit 100; }}; echo {fetched} > kernel.deb'
        ),
    }
    for name, script in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)


def fetch(folder: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        [ROOT / "tools/fetch_kernel_package.sh"], env=env, capture_output=True, text=True, check=False
    )


def test_the_distribution_s_kernel_is_fetched_once(tmp_path: Path) -> None:
    apt(tmp_path, "linux-image-6.12.1+deb12-amd64", fetched="first")
    path = Path(fetch(tmp_path).stdout.strip())
    apt(tmp_path, "linux-image-6.12.1+deb12-amd64", fetched="second")

    assert fetch(tmp_path).stdout.strip() == str(path)
    assert path.read_text() == "first\n"
    assert [each.name for each in path.parent.iterdir()] == [
        "linux-image-6.12.1+deb12-amd64_1%3a6.12-1_amd64.deb"
    ]


def test_a_newer_kernel_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    apt(tmp_path, "linux-image-6.12.1+deb12-amd64", fetched="old")
    fetch(tmp_path)
    apt(tmp_path, "linux-image-6.12.2+deb12-amd64", fetched="new")
    path = Path(fetch(tmp_path).stdout.strip())

    assert [each.read_text() for each in path.parent.iterdir()] == ["new\n"]


def test_a_kernel_that_cannot_be_fetched_is_told_with_the_next_step(tmp_path: Path) -> None:
    apt(tmp_path, "linux-image-6.12.1+deb12-amd64", fetched="")
    done = fetch(tmp_path)

    assert done.returncode == 4
    assert "E: no network" in done.stderr
    assert "sudo apt-get update" in done.stderr


def test_another_distribution_is_asked_for_a_kernel(tmp_path: Path) -> None:
    apt(tmp_path, "linux-image-6.8.0-88-generic", fetched="ubuntu")
    done = fetch(tmp_path)

    assert done.returncode == 2
    assert "make demo QUICK=1 KERNEL=FILE" in done.stderr


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
    outside = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    argv = ["make", "--dry-run", "demo", "SUITE=nope"]
    shown = subprocess.run(argv, cwd=ROOT, env=outside, capture_output=True, text=True, check=True)

    assert shown.stdout.splitlines()[0] == 'tools/demo_suite.sh "nope"'
