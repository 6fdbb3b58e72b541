"""The workflows hold to what docs/operations.md says of them: few rights, no secret for a stranger's code, pinned actions, our images."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
BY_TAG = {"anchore/scan-action"}
"""Whose commits nobody here could look up; docs/operations.md says so."""

WRITING = {
    ("image.yml", "image"): {"packages", "id-token", "attestations"},
    ("images.yml", "toolchain"): {"packages", "id-token", "attestations"},
    ("images.yml", "runner"): {"packages", "id-token", "attestations"},
    ("images.yml", "service"): {"packages", "id-token", "attestations"},
    ("release.yml", "attest"): {"id-token", "attestations"},
    ("release.yml", "publish"): {"id-token"},
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
    for path in WORKFLOWS:
        assert not {"pull_request_target", "workflow_run"} & set(read(path)["on"]), path.name


def test_no_secret_is_named_but_the_jobs_own_token() -> None:
    for path in WORKFLOWS:
        assert "secrets." not in path.read_text(), path.name
        assert "secrets: inherit" not in path.read_text(), path.name


def test_check_outs_leave_no_token_behind() -> None:
    found = [step for _, step in steps() if step.get("uses", "").startswith("actions/checkout@")]

    assert found
    assert all(step["with"]["persist-credentials"] == "false" for step in found)


def test_actions_are_pinned_by_commit_or_named_in_the_documents() -> None:
    page = (ROOT / "docs/operations.md").read_text()
    for path, step in steps():
        action, _, version = step.get("uses", "@").partition("@")
        if not action:
            continue
        if action in BY_TAG:
            assert re.fullmatch(r"v\d+\.\d+\.\d+", version), f"{path.name}: {step['uses']}"
            assert f"`{action}`" in page
            continue
        assert re.fullmatch(r"[0-9a-f]{40}", version), f"{path.name}: {step['uses']}"
        assert re.search(rf"{action}@{version} # v\d+\.\d+\.\d+$", path.read_text(), re.MULTILINE)


def test_no_command_is_made_of_what_somebody_else_wrote() -> None:
    """Names of branches and tags come in by the environment: an expression would be read as shell."""
    for path, step in steps():
        assert "${{" not in step.get("run", ""), f"{path.name}: {step.get('name')}"


def test_every_image_that_is_named_is_one_of_ours() -> None:
    named = {name for path in WORKFLOWS for name in re.findall(r"images/([\w-]+)/Dockerfile", path.read_text())}
    named |= {job["with"]["name"] for _, _, job in jobs() if job.get("uses", "").endswith("/image.yml")}
    there = {path.parent.name for path in ROOT.glob("images/*/Dockerfile")}

    assert named == there
    assert {"toolchain", "runner", "service"} <= there


def test_what_is_called_of_this_repository_is_there() -> None:
    commands = "\n".join(step.get("run", "") for _, step in steps())
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = set(re.findall(r"\bmake ([a-z-]+)", commands))
    scripts = set(re.findall(r"\btools/[\w.-]+", commands))

    assert called == {"wheels"}
    assert called <= targets
    assert scripts == {"tools/wheels-test.sh"}
    assert all((ROOT / script).is_file() for script in scripts)


def test_actionlint_finds_nothing() -> None:
    program = shutil.which("actionlint", path=str(Path(sys.executable).parent)) or shutil.which("actionlint")
    if program is None:
        pytest.skip("actionlint is not installed: tools/install-actionlint.sh, which needs Go")

    ended = subprocess.run([program, *map(str, WORKFLOWS)], cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stdout
