"""The reusable workflow runs: a push to a toy kernel tree is planned, built, booted and reported in the
summary of the step.
"""

import re
from pathlib import Path
from typing import Any

import cmarkgfm
from acting import act
from toy import change, git, toy_repository

STAND_IN = Path(__file__).parents[1] / "service/stand_in_command.py"
HOSTILE = "bpf: ::set-output name=plan::{} ##[add-path]/tmp $(touch /tmp/owned) `id` </details> @torvalds"

SUITES = 'suites = ["local-storage"]\n'
"""No suite executes what is changed here: the policy names one."""

OURS = {("set-output", name) for name in ("plan", "matrix", "targets")}


def tree_with_policy(folder: Path, more: str = "") -> tuple[Path, str]:
    tree = toy_repository(folder)
    return tree, change(tree, ".cliffwatch.toml", SUITES + more, "Say what is measured")


def tree_of(folder: Path, subject: str) -> tuple[Path, str, str]:
    tree, before = tree_with_policy(folder)
    after = change(tree, "behaviour", "slow\n", subject)
    git(tree, "remote", "add", "origin", "https://github.com/kernel/linux")
    git(tree, "update-ref", "refs/remotes/origin/master", before)
    return tree, before, after


def push(before: str, after: str) -> dict[str, Any]:
    repository = {
        "full_name": "kernel/linux",
        "default_branch": "master",
        "name": "linux",
        "owner": {"login": "kernel"},
    }
    return {"ref": "refs/heads/master", "before": before, "after": after, "repository": repository}


def test_a_push_is_planned_built_booted_and_reported(tmp_path: Path) -> None:
    tree, before, after = tree_of(tmp_path, "bpf: Make it slow")

    acted = act(tree, "push", push(before, after), tmp_path, STAND_IN)

    assert acted.status == 0, acted.log
    assert f"1 commit from `{before[:12]}` to `{after[:12]}` on emulated-x86-64 (icount)" in acted.summary
    assert "### 5 slower (up to 25.0 % more instructions), 2 unchanged" in acted.summary
    assert (acted.artifacts / "cliffwatch-emulated-x86-64-icount/run.json").is_file()
    assert acted.commands == OURS


def test_fail_on_of_the_base_fails_the_job_and_the_report_is_there_all_the_same(tmp_path: Path) -> None:
    tree, before = tree_with_policy(tmp_path, 'fail-on = ["regression"]\n')
    change(tree, ".cliffwatch.toml", f"{SUITES}fail-on = []\n", "Nothing fails")
    after = change(tree, "behaviour", "slow\n", "bpf: Make it slow")

    acted = act(tree, "push", push(before, after), tmp_path, STAND_IN)

    assert acted.status != 0
    assert "### 5 slower" in acted.summary
    assert (acted.artifacts / "cliffwatch-emulated-x86-64-icount/run.json").is_file()


def test_hostile_names_change_nothing_but_their_own_text(tmp_path: Path) -> None:
    tree, before, after = tree_of(tmp_path, HOSTILE)
    event = {
        "number": 7,
        "pull_request": {
            "number": 7,
            "title": HOSTILE,
            "body": f"Upstream branch: {after}\n{HOSTILE}",
            "user": {"login": "stranger"},
            "author_association": "NONE",
            "base": {"sha": before, "ref": "master", "repo": {"full_name": "kernel/linux"}},
            "head": {
                "sha": after,
                "ref": "::add-mask::a$(touch${IFS}owned)",
                "repo": {"full_name": "stranger/linux"},
            },
        },
        "repository": {
            "full_name": "kernel/linux",
            "default_branch": "master",
            "name": "linux",
            "owner": {"login": "kernel"},
        },
    }

    acted = act(tree, "pull_request", event, tmp_path, STAND_IN)

    assert acted.status == 0, acted.log
    assert "### 5 slower (up to 25.0 % more instructions), 2 unchanged" in acted.summary
    rendered = cmarkgfm.github_flavored_markdown_to_html(acted.summary)
    assert "torvalds" in rendered
    assert "@torvalds" not in re.sub(r"<code>.*?</code>", "", rendered, flags=re.DOTALL)
    assert not Path("/tmp/owned").exists()
    assert acted.commands == OURS


def test_a_kernel_that_does_not_build_is_a_result_with_its_error(tmp_path: Path) -> None:
    tree, before = tree_with_policy(tmp_path)
    after = change(tree, "kernel/bpf/core.c", "int broken(void) { return ::set-output; }\n", "bpf: Break it")

    acted = act(tree, "push", push(before, after), tmp_path, STAND_IN)

    assert acted.status == 0, acted.log
    assert "head: it does not build" in acted.summary
