"""The workflows hold to what docs/operations.md says of them: few rights, no secret for a stranger's code,
pinned actions, our images.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from cliffwatch.pull_request.policy import Policy, read_policy

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
EXAMPLES = sorted((ROOT / "examples/github").glob("*.yml"))

WRITING = {
    ("image.yml", "image"): {"packages", "id-token", "attestations"},
    ("images.yml", "toolchain"): {"packages", "id-token", "attestations"},
    ("images.yml", "runner"): {"packages", "id-token", "attestations"},
    ("images.yml", "service"): {"packages", "id-token", "attestations"},
    ("release.yml", "attest"): {"id-token", "attestations"},
    ("release.yml", "publish"): {"id-token"},
    ("publish.yml", "publish"): {"pull-requests", "checks", "id-token"},
    ("nightly.yml", "report"): {"issues"},
}
"""All jobs that may write anything, and what."""


def read(path: Path) -> Mapping[str, Any]:
    document = yaml.load(path.read_text(), yaml.BaseLoader)  # `on` stays a word
    assert isinstance(document, dict)
    return document


def jobs() -> Iterator[tuple[Path, str, Mapping[str, Any]]]:
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            yield path, name, job


def steps() -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for path, _, job in jobs():
        for step in job.get("steps", ()):
            yield path, step


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_no_right_that_a_job_does_not_ask_for(path: Path) -> None:
    assert read(path)["permissions"] == {}


def test_each_job_has_the_rights_that_it_needs_and_no_other() -> None:
    writing = {}
    for path, name, job in jobs():
        assert isinstance(job["permissions"], dict), f"{path.name}: {name} asks for rights by name"
        assert set(job["permissions"].values()) <= {"read", "write"}
        rights = {right for right, level in job["permissions"].items() if level == "write"}
        if rights:
            writing[path.name, name] = rights

    assert writing == WRITING


def test_what_writes_does_not_run_for_a_pull_request() -> None:
    """A job that waits for one that is left out is left out itself."""
    for path, name, job in jobs():
        if (path.name, name) not in WRITING or "pull_request" not in read(path)["on"]:
            continue
        needed = [read(path)["jobs"][each] for each in [job["needs"]]] if "needs" in job else []
        conditions = [each.get("if", "") for each in (job, *needed)]
        assert "github.event_name == 'push'" in conditions, f"{path.name}: {name}"


def test_no_workflow_runs_a_strangers_code_with_our_rights() -> None:
    """What runs after another workflow has rights: it checks nothing out but Cliffwatch at its own commit."""
    for path in (*WORKFLOWS, *EXAMPLES):
        assert "pull_request_target" not in read(path)["on"], path.name
    assert [path.name for path in (*WORKFLOWS, *EXAMPLES) if "workflow_run" in read(path)["on"]] == [
        "publish.yml"
    ] * 2
    fetched = [
        step["with"]
        for path, step in steps()
        if path.name == "publish.yml" and "checkout" in step.get("uses", "")
    ]
    assert [(each["repository"], each["ref"]) for each in fetched] == [
        ("${{ job.workflow_repository }}", "${{ job.workflow_sha }}")
    ]


def test_what_builds_a_forks_code_can_do_nothing_but_read() -> None:
    (benchmark,) = (read(path) for path in WORKFLOWS if path.name == "benchmark.yml")

    for job in benchmark["jobs"].values():
        assert job["permissions"] == {"contents": "read"}
        assert "token" not in str(job)


def test_a_kernel_tree_calls_it_in_five_lines() -> None:
    lines = [
        line
        for line in (ROOT / "examples/github/kernel-tree.yml").read_text().splitlines()
        if line[:1] != "#"
    ]

    assert [line.split(":")[0].strip() for line in lines] == [
        "name",
        "on",
        "permissions",
        "jobs",
        "benchmark",
        "uses",
    ]
    assert set(read(ROOT / "examples/github/kernel-tree.yml")["on"]) == {"push", "pull_request"}


def test_the_examples_call_what_is_there_with_inputs_that_it_has() -> None:
    for path in EXAMPLES:
        for job in read(path)["jobs"].values():
            called = ROOT / job["uses"].removeprefix("cliffwatch/cliffwatch/").partition("@")[0]
            inputs = read(called)["on"]["workflow_call"]["inputs"]
            assert set(job.get("with", {})) <= set(inputs), path.name


def test_the_examples_policy_is_one() -> None:
    policy = read_policy((ROOT / "examples/github/cliffwatch.toml").read_text(), "cliffwatch.toml")

    assert isinstance(policy, Policy)
    assert [target.mode for target in policy.targets] == ["icount", "walltime", "walltime"]


def test_no_secret_is_named_but_the_uploads_of_what_runs_nobodys_code() -> None:
    named = {
        (path.name, secret)
        for path in WORKFLOWS
        for secret in re.findall(r"secrets\.([\w-]+)", path.read_text())
    }

    assert named == {("publish.yml", "service-token")}
    assert all("secrets: inherit" not in path.read_text() for path in (*WORKFLOWS, *EXAMPLES))


def test_check_outs_leave_no_token_behind() -> None:
    found = [step for _, step in steps() if step.get("uses", "").startswith("actions/checkout@")]

    assert found
    assert all(step["with"]["persist-credentials"] == "false" for step in found)


def test_actions_are_pinned_by_commit() -> None:
    for path, step in steps():
        action, _, version = step.get("uses", "@").partition("@")
        if action:
            assert re.fullmatch(r"[0-9a-f]{40}", version), f"{path.name}: {step['uses']}"
            assert re.search(rf"{action}@{version} # v\d+\.\d+\.\d+$", path.read_text(), re.MULTILINE)


def test_dependabot_knows_where_dependencies_are() -> None:
    updates = read(ROOT / ".github/dependabot.yml")["updates"]
    folders = {
        each["package-ecosystem"]: each.get("directories", [each.get("directory")]) for each in updates
    }

    assert {f"/{path.parent.relative_to(ROOT)}" for path in ROOT.glob("images/*/Dockerfile")} == set(
        folders["docker"]
    )
    listed = subprocess.run(
        ["git", "ls-files", "*package.json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {f"/{Path(line).parent}" for line in listed.stdout.splitlines()} == set(folders["npm"])
    assert {"github-actions", "pip"} <= set(folders)


def test_no_command_is_made_of_what_somebody_else_wrote() -> None:
    """Names of branches and tags come in by the environment: an expression would be read as shell."""
    for path, step in steps():
        assert "${{" not in step.get("run", ""), f"{path.name}: {step.get('name')}"


def test_every_image_that_is_named_is_one_of_ours() -> None:
    named = {
        name for path in WORKFLOWS for name in re.findall(r"images/([\w-]+)/Dockerfile", path.read_text())
    }
    named |= {job["with"]["name"] for _, _, job in jobs() if job.get("uses", "").endswith("/image.yml")}
    there = {path.parent.name for path in ROOT.glob("images/*/Dockerfile")}

    assert named == there
    assert {"toolchain", "runner", "service"} <= there


def test_what_is_called_of_this_repository_is_there() -> None:
    commands = "\n".join(step.get("run", "") for _, step in steps())
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = set(re.findall(r"\bmake (?:-C \S+ )?([a-z-]+)", commands))
    scripts = set(re.findall(r"\btools/[\w.-]+", commands))

    assert called == {"wheels", "lint", "test", "demo", "setup"}
    assert called <= targets
    assert scripts == {"tools/wheels-test.sh"}
    assert all((ROOT / script).is_file() for script in scripts)


def program(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: make test-programs")
    return found


def test_actionlint_finds_nothing() -> None:
    argv = [program("actionlint"), *map(str, (*WORKFLOWS, *EXAMPLES))]
    ended = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout


def test_zizmor_finds_nothing() -> None:
    argv = [program("zizmor"), "--offline", "--no-progress", "--config", ".github/zizmor.yml", ".github"]
    ended = subprocess.run(
        [*argv, *map(str, EXAMPLES)], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stdout
