"""The reusable workflow with a real kernel: a push is planned, built (or taken from the user's cache),
booted, and reported; what it measured is then published as its event says. act plays GitHub.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from acting import act
from demonstration_tree import git, write_demonstration_tree

from cliffwatch_runner.command.options.cache import default_cache

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kernels of both revisions are in the user's cache after one run."""
    folder = tmp_path_factory.mktemp("tree") / "linux"
    base, _ = write_demonstration_tree(folder)
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
    event: dict[str, Any] = {
        "ref": "refs/heads/master",
        "before": base,
        "after": head,
        "repository": repository,
    }

    acted = act(
        tree,
        "push",
        event,
        tmp_path,
        ROOT / "tests/workflows/own_kernels_command.py",
        cache=default_cache().parent,
    )

    assert acted.status == 0, acted.log[-4000:]
    assert "### 2 slower (" in acted.summary
    record = json.loads((acted.artifacts / "cliffwatch-emulated-x86-64-icount/run.json").read_text())
    assert [arm["facts"]["commit"] for arm in record["arms"]] == [base, head]
    assert record["mode"] == "icount"
