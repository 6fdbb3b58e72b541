"""`cliffwatch ci watch`: a branch is watched without a service, one look after another."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from isolation_here import ISOLATION, leave_out_root
from toy import change, git

from cliffwatch.command.main import main

pytestmark = [pytest.mark.usefixtures("stand_in_guest")]

Look = Callable[..., Result]


@pytest.fixture
def look(repository: Path, tmp_path: Path) -> Look:
    """Looks at master; results of each look are in a folder of their own, of the last one in `out`."""
    leave_out_root()
    looks: list[Path] = []

    def one(*more: str) -> Result:
        looks.append(tmp_path / f"look-{len(looks)}")
        folders = ["--state", tmp_path / "state.json", "--out", looks[-1], "--cache", tmp_path / "cache"]
        outputs = [
            "--output",
            looks[-1].with_suffix(".outputs"),
            "--summary",
            looks[-1].with_suffix(".summary"),
        ]
        words = [
            "ci",
            "watch",
            "--tree",
            repository,
            "--branch",
            "master",
            "--case",
            "seq-get/nr_maps=16",
            "--boots",
            1,
        ]
        words += ["--isolation", ISOLATION, *folders, *outputs, *more]
        return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)

    return one


def state(folder: Path) -> str:
    commit: str = json.loads((folder / "state.json").read_text())["commit"]
    return commit


def outputs(folder: Path, look: int) -> dict[str, str]:
    lines = (folder / f"look-{look}.outputs").read_text().splitlines()
    return {line.partition("<<")[0]: lines[at + 1] for at, line in enumerate(lines) if "<<" in line}


def notes(repository: Path, count: int, about: str) -> None:
    for number in range(count):
        change(repository, "README", f"{about} {number}\n", f"docs: Say {about} {number}")


def latency(repository: Path, value: float, subject: str) -> str:
    return change(repository, "behaviour", f"latency {value:.3f}\n", subject)


def test_the_commit_that_made_it_slower_is_named_among_all_that_came_since_the_last_look(
    repository: Path, tmp_path: Path, look: Look
) -> None:
    first = change(repository, "README", "first\n", "docs: First")
    ended = look()
    assert ended.exit_code == 0, ended.output
    assert state(tmp_path) == first
    assert "first look" in (tmp_path / "look-0/report.md").read_text()
    assert outputs(tmp_path, 0)["culprits"] == "0"

    notes(repository, 2, "before")
    culprit = latency(repository, 206, "bpf: Make it slow")
    notes(repository, 2, "after")
    ended = look()

    assert ended.exit_code == 0, ended.output
    tip = git(repository, "rev-parse", "HEAD")
    assert state(tmp_path) == tip
    assert outputs(tmp_path, 1) == {
        "culprits": "1",
        "title": f"master: 1 regression, {first[:12]} to {tip[:12]}",
    }
    report = (tmp_path / "look-1/report.md").read_text()
    assert f"    {culprit[:12]}  bpf: Make it slow" in report
    assert (tmp_path / "look-1.summary").read_text().startswith("### master: 1 regression")
    assert (
        json.loads((tmp_path / "look-1/bisect-regression/bisection.json").read_text())["outcome"]
        == "culprits"
    )


def test_where_nothing_is_new_nothing_is_measured(repository: Path, tmp_path: Path, look: Look) -> None:
    change(repository, "README", "first\n", "docs: First")
    look()

    ended = look()

    assert ended.exit_code == 0
    assert not (tmp_path / "look-1/run").exists()
    assert outputs(tmp_path, 1)["culprits"] == "0"
    assert "nothing new" in outputs(tmp_path, 1)["title"]


def test_an_improvement_is_named_too(repository: Path, tmp_path: Path, look: Look) -> None:
    latency(repository, 206, "bpf: Make it slow")
    look()
    culprit = latency(repository, 200, "bpf: Make it fast again")
    notes(repository, 1, "behind")

    assert look().exit_code == 0

    assert "1 improvement" in outputs(tmp_path, 1)["title"]
    assert culprit[:12] in (tmp_path / "look-1/report.md").read_text()


def test_what_does_not_build_leaves_the_state_so_that_its_range_is_looked_at_later(
    repository: Path, tmp_path: Path, look: Look
) -> None:
    first = change(repository, "README", "first\n", "docs: First")
    look()
    culprit = latency(repository, 206, "bpf: Make it slow")
    change(
        repository,
        "kernel/bpf/core.c",
        "int bpf_prog_run(void) { return nothing; }\n",
        "bpf: Break the build",
    )

    ended = look()

    assert ended.exit_code == 3, ended.output
    assert state(tmp_path) == first
    assert "cannot be measured" in outputs(tmp_path, 1)["title"]
    git(repository, "revert", "--no-edit", "HEAD")
    assert look().exit_code == 0
    report = (tmp_path / "look-2/report.md").read_text()
    assert culprit[:12] in report


def test_a_branch_that_was_rewritten_is_compared_with_where_both_meet(
    repository: Path, tmp_path: Path, look: Look
) -> None:
    kept = change(repository, "README", "kept\n", "docs: Kept")
    change(repository, "README", "dropped\n", "docs: Dropped")
    look()
    git(repository, "reset", "--quiet", "--hard", kept)
    tip = latency(repository, 206, "bpf: Make it slow")

    assert look().exit_code == 0

    assert outputs(tmp_path, 1)["title"] == f"master: 1 regression, {kept[:12]} to {tip[:12]}"
    assert "rewritten" in (tmp_path / "look-1/report.md").read_text()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("{}", "is no state"),
        ("not json", "is no state"),
        ('{"format": "cliffwatch-watched-branch", "version": 9, "branch": "master", "commit": "' + "0" * 40 + '"}', "is no state"),
        ('{"format": "cliffwatch-watched-branch", "version": 1, "branch": "other", "commit": "' + "0" * 40 + '"}', "is no state"),
    ],
)  # fmt: skip
def test_a_state_that_is_none_of_the_branch_is_refused(
    tmp_path: Path, look: Look, content: str, what: str
) -> None:
    (tmp_path / "state.json").write_text(content)

    ended = look()

    assert ended.exit_code == 2
    assert what in ended.output
    assert (tmp_path / "state.json").read_text() == content


def test_a_branch_that_is_not_there_is_said(look: Look) -> None:
    ended = look("--branch", "nowhere")

    assert ended.exit_code == 2
    assert "nowhere" in ended.output


def test_a_clone_without_the_old_history_is_enough(repository: Path, tmp_path: Path, look: Look) -> None:
    """As nightly.yml makes one: what lies before the last look is not fetched."""
    notes(repository, 3, "older")
    first = git(repository, "rev-parse", "HEAD")
    notes(repository, 1, "newer")
    culprit = latency(repository, 206, "bpf: Make it slow")
    notes(repository, 1, "newest")
    clone = tmp_path / "watched.git"
    git(
        tmp_path,
        "clone",
        "--quiet",
        "--bare",
        "--single-branch",
        "--branch=master",
        "--depth=4",
        f"file://{repository}",
        str(clone),
    )
    (tmp_path / "state.json").write_text(
        json.dumps({"format": "cliffwatch-watched-branch", "version": 1, "branch": "master", "commit": first})
    )

    ended = look("--tree", str(clone))

    assert ended.exit_code == 0, ended.output
    assert culprit[:12] in (tmp_path / "look-0/report.md").read_text()


def test_no_subject_is_a_command_to_githubs_runner(repository: Path, tmp_path: Path, look: Look) -> None:
    change(repository, "README", "first\n", "docs: First")
    look()
    latency(repository, 206, "::error::x ##[add-path]/tmp")

    ended = look()

    shown = ended.output + (tmp_path / "look-1/report.md").read_text()
    assert ended.exit_code == 0
    assert not [line for line in shown.splitlines() if line.lstrip().startswith("::") or "##[" in line]
