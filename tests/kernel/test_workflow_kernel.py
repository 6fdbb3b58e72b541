"""The reusable workflow with a real kernel: a push is planned, built (or taken from the user's cache), booted, and reported; what it
measured is then published as its event says. act plays GitHub.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "workflows"))
from acting import act
from isolation_here import ISOLATION, leave_out_root

from cliffwatch_runner.command.options.cache import default_cache

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]
PATCH = ROOT / "examples" / "uninline-local-storage-lookup.patch"
CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"


def git(tree: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(tree), *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of the demo's two revisions, whose objects lie in the user's mirror: kernels of both are in his cache after one run."""
    found = sorted(Path("/usr/src").glob("linux-source-*.tar.*"))
    assert found, "there is no kernel source under /usr/src: tools/install-packages.sh source"
    mirror, folder = default_cache() / "mirror.git", tmp_path_factory.mktemp("tree") / "linux"
    leave_out_root()
    argv = [str(CLIFFWATCH), "run", "--tree", str(found[-1]), "--base", "HEAD", "--head", "HEAD", "--patch", str(PATCH)]
    argv += ["--isolation", ISOLATION]
    planned = subprocess.run([*argv, "--mode", "icount", "--dry-run"], check=True, capture_output=True, text=True)
    short = [line.split()[1] for line in planned.stdout.splitlines()[:2]]
    names = git(mirror, "for-each-ref", "--format=%(objectname)", "refs/cliffwatch").split()
    base, head = (next(name for name in names if name.startswith(each)) for each in short)
    subprocess.run(["git", "init", "--quiet", "--initial-branch=master", str(folder)], check=True)
    (folder / ".git/objects/info/alternates").write_text(f"{mirror}/objects\n")
    git(folder, "update-ref", "refs/heads/master", head)
    git(folder, "update-ref", "refs/remotes/origin/master", base)
    git(folder, "remote", "add", "origin", "https://github.com/kernel/linux")
    return folder


def test_a_push_of_a_real_kernel_is_measured_and_reported(tree: Path, tmp_path: Path) -> None:
    head, base = git(tree, "rev-parse", "master"), git(tree, "rev-parse", "origin/master")
    repository = {
        "full_name": "kernel/linux",
        "default_branch": "master",
        "name": "linux",
        "owner": {"login": "kernel"},
    }
    event: dict[str, Any] = {"ref": "refs/heads/master", "before": base, "after": head, "repository": repository}

    acted = act(
        tree, "push", event, tmp_path, ROOT / "tests/workflows/own_kernels_command.py", cache=default_cache().parent
    )

    assert acted.status == 0, acted.log[-4000:]
    assert "### 2 regressions, 1 unchanged of 3 cases" in acted.summary
    record = json.loads((acted.artifacts / "cliffwatch-emulated-x86-64-icount/run.json").read_text())
    assert [arm["facts"]["commit"] for arm in record["arms"]] == [base, head]
    assert record["mode"] == "icount"
