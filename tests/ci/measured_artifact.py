"""The artifact that a measuring workflow leaves, as GitHub serves it."""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from github_stand_in.kept import Pull, Repository
from github_stand_in.server import StandIn
from toy import FAKEVNG, change, git, request, run_toy, toy_repository

from cliffwatch.formats.result_directory import Run
from cliffwatch_runner.run import build, measure

RUN = 6_000_000_001


ARTIFACT = "cliffwatch-emulated-x86-64-icount"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run of the toy tree whose head is slow."""
    folder = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(measure, "guest_programs", lambda: (FAKEVNG,))
        patches.setattr(build, "_NEEDED_BYTES", 0)
        repository = toy_repository(folder)
        change(repository, "behaviour", "slow\n", "bpf: ::add-mask::x @torvalds <b>slow</b>")
        run = run_toy(request(repository, folder, base=git(repository, "rev-parse", "v6.12"), boots=2))
    assert isinstance(run, Run)
    return run


def commits(run: Run) -> tuple[str, str]:
    return run.arms["base"].facts["commit"], run.arms["head"].facts["commit"]


def zipped(run: Run, folder: Path, change_record: Callable[[dict[str, Any]], object] | None = None) -> bytes:
    """The artifact that a job would have uploaded, with its run.json changed as somebody else would."""
    copy = folder / "artifact"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run.path, copy)
    if change_record is not None:
        record = json.loads((copy / "run.json").read_text())
        change_record(record)
        (copy / "run.json").write_text(json.dumps(record))
    path = folder / "artifact.zip"
    with zipfile.ZipFile(path, "w") as opened:
        for file in sorted(copy.rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                opened.write(file, file.relative_to(copy))
    return path.read_bytes()


@pytest.fixture
def tree(github: StandIn, measured: Run) -> Repository:
    """The repository on GitHub, with the commits that were measured."""
    repository = github.kept.repository("kernel/linux")
    base, head = commits(measured)
    repository.commit(base, "Linux 6.12", files={"Makefile": "VERSION = 6\n"})
    repository.commit(head, "bpf: slow", base, files={"behaviour": "slow\n"})
    repository.branches["master"] = base
    return repository


@pytest.fixture
def pull(github: StandIn, tree: Repository, measured: Run) -> Pull:
    return github.kept.pull(
        tree.name, base=commits(measured)[0], head=commits(measured)[1], title="bpf: @everyone"
    )


def workflow_run(pull: Pull, **more: Any) -> dict[str, Any]:
    run = {
        "id": RUN,
        "run_attempt": 1,
        "event": "pull_request",
        "head_sha": pull.head,
        "head_branch": pull.head_branch,
        "head_repository": {"full_name": pull.head_repository},
        "pull_requests": [{"number": 4711}],
        **more,
    }
    return {"workflow_run": run, "repository": {"full_name": "kernel/linux", "default_branch": "master"}}
