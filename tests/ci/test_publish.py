"""What becomes of a workflow's results: commits and pull request are GitHub's word, and an artifact is
nobody's.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from github_stand_in.kept import Pull, Repository
from github_stand_in.server import StandIn
from measured_artifact import ARTIFACT, RUN, commits, workflow_run, zipped
from service_running import Running

from cliffwatch.command.main import main
from cliffwatch.formats.result_directory import Run
from cliffwatch.formats.setup import Setup
from cliffwatch.pull_request.marker import read_marker
from cliffwatch.pull_request.policy import Policy, Target
from cliffwatch_runner.ci.reported_state import build_state
from cliffwatch_runner.ci.workflow_run import WorkflowRun


def publish(github: StandIn, folder: Path, event: dict[str, Any], *more: str) -> Result:
    file = folder / "event.json"
    file.write_text(json.dumps(event))
    argv = [
        "ci",
        "publish",
        "--event",
        str(file),
        "--api",
        github.url,
        "--server",
        "https://github.com",
        *more,
    ]
    token = github.kept.token("github-actions[bot]")
    return CliRunner(env={"GITHUB_TOKEN": token}).invoke(main, argv, catch_exceptions=False)


def test_a_pull_request_gets_one_comment_and_its_head_a_check_run(
    github: StandIn, tree: Repository, pull: Pull, measured: Run, tmp_path: Path
) -> None:
    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path))
    tree.artifacts[2] = (RUN, "coverage", b"not ours")

    for _ in range(2):
        ended = publish(github, tmp_path, workflow_run(pull))
        assert ended.exit_code == 0, ended.output

    kinds = {
        found.kind: each for each in tree.comments.values() if (found := read_marker(each.body)) is not None
    }
    assert len(kinds) == len(tree.comments) <= 2
    sticky = kinds["sticky"]
    assert sticky.number == pull.number
    assert "5 slower" in sticky.body
    assert "@everyone" not in sticky.body
    assert {check.head for check in tree.checks.values()} == {pull.head}
    assert len(tree.checks) == 1


def test_a_newer_push_or_a_closed_pull_request_is_not_spoken_of(
    github: StandIn, tree: Repository, pull: Pull, measured: Run, tmp_path: Path
) -> None:
    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path))
    event = workflow_run(pull)
    tree.commit("3" * 40, "a newer one", pull.head, files={"a": "b"})
    pull.head = "3" * 40
    assert "a newer push took its place" in publish(github, tmp_path, event).output
    pull.state = "closed"
    assert "the pull request is closed" in publish(github, tmp_path, event).output

    assert not tree.comments
    assert not tree.checks


def set_commit(arm: str, commit: str) -> Callable[[dict[str, Any]], object]:
    return lambda record: arm_of(record, arm)["facts"].update(commit=commit)


def arm_of(record: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(arm for arm in record["arms"] if arm["name"] == name)
    return found


@pytest.mark.parametrize(
    ("change_record", "words"),
    [
        (set_commit("head", "9" * 40), "its head is another commit than the workflow ran for"),
        (set_commit("base", "9" * 40), "its base is not the merge base"),
        (set_commit("head", "v6.12"), "it holds no run that can be read"),
        (lambda record: record.update(platform="amd-rome"), "it is of another target"),
        (lambda record: record.update(mode="walltime"), "it is of another target"),
        (lambda record: record["arms"].remove(arm_of(record, "base")), "it has no base and head"),
        (lambda record: record.update(arms=[]), "it holds no run that can be read"),
        (lambda record: arm_of(record, "base")["facts"].pop("commit"), "its base and head are no commits"),
        (lambda record: record.update(plan="::set-output"), "it holds no run that can be read"),
        (lambda record: record.update(format="other"), "it holds no run that can be read"),
    ],
)
def test_a_forged_artifact_is_refused(
    github: StandIn,
    service: Running,
    tree: Repository,
    pull: Pull,
    measured: Run,
    tmp_path: Path,
    change_record: Callable[[dict[str, Any]], object],
    words: str,
) -> None:
    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path, change_record))

    ended = publish_and_upload(github, service, tmp_path, workflow_run(pull))

    assert ended.exit_code == 2
    assert words in ended.output
    assert service.rows("SELECT * FROM run") == []


@pytest.mark.parametrize("base", ["a" * 70_000, "\ud800", "../../../user"])
def test_a_base_that_is_no_commit_is_asked_nobody(
    github: StandIn, tree: Repository, pull: Pull, measured: Run, tmp_path: Path, base: str
) -> None:
    """Of a push, whose base no pull request says: what an artifact names is in no request, and ends no
    other's publishing.
    """
    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path, set_commit("base", base)))

    ended = publish(github, tmp_path, workflow_run(pull, event="push", head_branch="master"))

    assert ended.exit_code == 2
    assert "it holds no run that can be read" in ended.output
    assert len(tree.checks) == 1


def publish_and_upload(github: StandIn, service: Running, folder: Path, event: dict[str, Any]) -> Result:
    with pytest.MonkeyPatch.context() as patches:
        patches.setenv("CLIFFWATCH_TOKEN", service.tokens["upload"])
        return publish(github, folder, event, "--no-comment", "--service", service.url)


@pytest.mark.parametrize("fork", ["kernel/linux", "stranger/linux"])
def test_what_is_uploaded_is_of_the_event_and_never_history(
    github: StandIn, service: Running, tree: Repository, measured: Run, tmp_path: Path, fork: str
) -> None:
    base, head = commits(measured)
    service.follow("https://github.com/kernel/linux", "master", [base, head])
    pull = github.kept.pull(tree.name, base=base, head=head, head_repository=fork, association="NONE")

    def claim(record: dict[str, Any]) -> None:
        record["tree"] = "https://github.com/kernel/linux"
        record["host"]["name"] = "rome-1"

    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path, claim))
    ended = publish_and_upload(github, service, tmp_path, workflow_run(pull))
    service.do_tasks()

    assert ended.exit_code == 0, ended.output
    (kept,) = service.get("/runs", "read")["items"]
    whole = service.get(f"/runs/{kept['run']}", "read")
    assert kept["host"] == ("github-fork:kernel/linux" if fork != "kernel/linux" else "github:kernel/linux")
    assert whole["record"]["tree"] == f"https://github.com/{fork}"
    assert any("untrusted" in note for note in whole["record"]["notes"]) == (fork != "kernel/linux")
    assert service.rows("SELECT of_history FROM run") == [{"of_history": False}]


def test_hostile_text_is_no_command_to_the_runner(
    github: StandIn, tree: Repository, pull: Pull, measured: Run, tmp_path: Path
) -> None:
    def shout(record: dict[str, Any]) -> None:
        record["notes"] = ["::error::x\n::add-path::/tmp\r::stop-commands::y ##[add-path]z"]
        arm_of(record, "head")["label"] = "\n::set-output name=a::b"

    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path, shout))
    tree.artifacts[2] = (
        RUN,
        "cliffwatch-amd-rome-walltime",
        zipped(measured, tmp_path, set_commit("head", "\n::set-output::")),
    )

    ended = publish(github, tmp_path, workflow_run(pull))

    lines = ended.output.replace("\r", "\n").splitlines()
    assert ended.exit_code == 2
    assert {line.split(" ")[0] for line in lines if line.lstrip().startswith("::")} == {"::error"}
    assert "##[" not in ended.output
    assert all("title=cliffwatch" in line for line in lines if line.startswith("::error"))


def test_a_huge_artifact_is_not_downloaded_to_its_end(
    github: StandIn,
    tree: Repository,
    pull: Pull,
    measured: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cliffwatch_runner.ci.github_api.LARGEST_ARCHIVE", 1000)
    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path))

    ended = publish(github, tmp_path, workflow_run(pull))

    assert ended.exit_code == 2
    assert "the artifact is not published: it is too large" in ended.output


def test_a_push_is_published_as_a_check_run_alone(
    github: StandIn, tree: Repository, measured: Run, tmp_path: Path
) -> None:
    base, head = commits(measured)
    tree.branches["master"] = head
    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path))
    run = {
        "id": RUN,
        "run_attempt": 1,
        "event": "push",
        "head_sha": head,
        "head_branch": "master",
        "head_repository": {"full_name": "kernel/linux"},
    }
    ended = publish(
        github,
        tmp_path,
        {"workflow_run": run, "repository": {"full_name": "kernel/linux", "default_branch": "master"}},
    )

    assert ended.exit_code == 0, ended.output
    assert not tree.comments
    assert [check.head for check in tree.checks.values()] == [head]
    assert base in json.dumps([check.content for check in tree.checks.values()])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"event": "pull_request_target"}, "nothing is published for the event"),
        ({"head_sha": "main"}, "workflow_run.head_sha: Expected str that is"),
        ({"head_repository": None}, "workflow_run.head_repository: Expected"),
        ({"head_repository": {"full_name": "../x"}}, "head_repository.full_name: Expected str that is"),
        ({"head_branch": "a b\n::set-output::"}, "workflow_run.head_branch: Expected str that is"),
        ({"id": "1"}, "workflow_run.id: Expected int"),
    ],
)
def test_an_event_that_is_none_is_refused(
    github: StandIn, pull: Pull, tmp_path: Path, more: dict[str, Any], words: str
) -> None:
    ended = publish(github, tmp_path, workflow_run(pull, **more))

    assert ended.exit_code == 2
    assert words in ended.output
    assert not github.requests


def test_a_silent_job_is_told_as_failed(
    github: StandIn, tree: Repository, pull: Pull, tmp_path: Path
) -> None:
    ended = publish(github, tmp_path, workflow_run(pull))

    assert ended.exit_code == 0, ended.output
    assert len(tree.comments) == 1


def test_a_comment_can_be_looked_at_before_anything_is_posted(
    github: StandIn, pull: Pull, measured: Run, tmp_path: Path
) -> None:
    file = tmp_path / "event.json"
    file.write_text(json.dumps(workflow_run(pull, head_repository={"full_name": "stranger/linux"})))

    ended = CliRunner().invoke(
        main, ["ci", "comment", str(measured.path), "--event", str(file)], catch_exceptions=False
    )

    assert ended.exit_code == 0
    assert "5 slower" in ended.output
    assert "untrusted" in ended.output
    assert not github.requests


@pytest.mark.parametrize(
    ("platform", "mode", "said"),
    [
        ("amd-rome", "walltime", "--boots careful --layouts 16 --matched"),
        ("rehearsal-x86-64", "walltime", "--accel tcg --boots careful --layouts 16 --matched"),
        ("emulated-x86-64", "icount", "--boots careful"),
    ],
)
def test_the_command_that_repeats_a_target_says_what_only_walltime_has(
    platform: str, mode: Any, said: str
) -> None:
    target = Target(platform=platform, mode=mode, runs_on=("self-hosted",))
    policy = Policy(boots="careful", setup=Setup(layouts=16, matched=True), targets=(target,))
    ended = WorkflowRun(
        repository="kernel/linux",
        identity=1,
        attempt=1,
        event="push",
        head="2" * 40,
        head_branch="topic",
        head_repository="kernel/linux",
        default_branch="master",
    )
    assert build_state(ended, None, policy, (), "https://github.com").repeat.endswith(f"--mode {mode} {said}")
