"""A distribution's own kernel, from its package, is measured against ours: nothing of it is built.

The package is that of CLIFFWATCH_PREBUILT_PACKAGE, or the only one in ~/.cache/cliffwatch/prebuilt:
`apt-get download linux-image-6.12.117+deb12-amd64` there (any release that `apt-cache search
linux-image-6.12` lists, not a `cloud` one). Our kernel and bench are those of the demo, from the user's
cache or built into it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cliffwatch_runner.command.options.cache import default_cache

pytestmark = [pytest.mark.kernel, pytest.mark.namespaces, pytest.mark.timeout(3600)]

CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"


@pytest.fixture(scope="module")
def package() -> Path:
    named = os.environ.get("CLIFFWATCH_PREBUILT_PACKAGE")
    found = [Path(named)] if named else sorted((default_cache() / "prebuilt").glob("linux-image-*.deb"))
    if len(found) != 1:
        pytest.skip(
            "there is no package of a distribution's kernel: `apt-get download linux-image-RELEASE` in"
            " ~/.cache/cliffwatch/prebuilt"
        )
    return found[0]


@pytest.fixture(scope="module")
def source() -> Path:
    found = sorted(Path("/usr/src").glob("linux-source-*.tar.*"))
    assert found, "there is no kernel source under /usr/src: tools/install-packages.sh source"
    return found[-1]


@pytest.fixture(scope="module")
def results(package: Path, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("prebuilt") / "results"
    argv = [str(CLIFFWATCH), "run", "--tree", str(source), "--base", "HEAD", "--kernel", str(package)]
    argv += [
        "--mode",
        "icount",
        "--suite",
        "local-storage",
        "--profile",
        "smoke",
        "--boots",
        "2",
        "--out",
        str(out),
    ]
    ended = subprocess.run(argv, check=False, stdout=subprocess.PIPE, text=True)
    assert ended.returncode == 0, ended.stdout
    return out


def compared(results: Path, form: str) -> str:
    argv = [str(CLIFFWATCH), "compare", str(results), "--format", form]
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def environments(results: Path) -> dict[str, dict[str, Any]]:
    """The last boot of each arm."""
    folders = sorted((results / "boots").iterdir())
    return {
        folder.name.partition("-")[2]: json.loads((folder / "environment.json").read_text())
        for folder in folders
        if (folder / "boot.json").exists()
    }


def test_every_case_is_measured_on_both(results: Path) -> None:
    rows = [row for row in json.loads(compared(results, "json"))["comparisons"] if row["primary"]]

    assert len(rows) >= 7
    assert all(row["base"] and row["head"] for row in rows)
    assert {row["verdict"] for row in rows} <= {"regression", "improvement", "unchanged"}, rows


def test_the_report_says_how_their_configurations_differ(results: Path) -> None:
    report = compared(results, "text")

    assert "head: hardening that our own kernels do not have: CONFIG_CPU_MITIGATIONS" in report
    assert "head: drivers from an initial file system: " in report
    assert "head: its configuration is the package's, as the kernel itself shows none" in report


def test_guests_are_of_one_shape_and_each_kernel_is_checked_by_its_own_configuration(results: Path) -> None:
    of = environments(results)

    assert {arm: each["config_from"] for arm, each in of.items()} == {"base": "kernel", "head": "package"}
    for name in ("root_file_system", "bpf_jit_enable", "bpf_jit_harden", "cpus", "cpu_model"):
        assert of["base"][name] == of["head"][name], name
