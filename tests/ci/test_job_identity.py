"""Publishing without a stored token: the job's identity for a token of the service, over HTTP and against a
real service.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from github_stand_in.kept import Repository
from github_stand_in.server import StandIn
from identity_issuer import JOB_SECRET, REPOSITORY, WORKFLOW, Issuer, issuing
from measured_artifact import ARTIFACT, RUN, commits, workflow_run, zipped
from service_running import Clock, Running, serving

from cliffwatch.command.main import main
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run
from cliffwatch_runner.ci.job_identity import IdentityRequest, job_token, read_identity_request
from cliffwatch_service.runtime.settings import Settings

AUDIENCE = "http://service.example.org"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def issuer(clock: Clock) -> Iterator[Issuer]:
    with issuing(clock) as running:
        yield running


@pytest.fixture
def service(database: str, tmp_path: Path, clock: Clock, issuer: Issuer) -> Iterator[Running]:
    """A service that takes GitHub's word. It learns its own address once it listens."""
    settings = Settings(
        data_dir=tmp_path / "data",
        github_actions_issuer=issuer.url,
        github_publish_workflows=(WORKFLOW,),
        github_repositories=(REPOSITORY,),
    )
    with serving(database, settings, clock) as running:
        found = running.service.settings.model_copy(update={"pages_url": running.url})
        object.__setattr__(running.service, "settings", found)
        yield running


@pytest.fixture
def signing(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What GitHub's runner gives a job with `id-token: write`, and the secret that publish.yml has when none
    is stored.
    """
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", issuer.job_address())
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", JOB_SECRET)
    monkeypatch.setenv("CLIFFWATCH_TOKEN", "")


def publish(github: StandIn, service: str, folder: Path, event: dict[str, Any]) -> Result:
    file = folder / "event.json"
    file.write_text(json.dumps(event))
    argv = ["ci", "publish", "--event", str(file), "--api", github.url, "--no-comment", "--service", service]
    return CliRunner().invoke(main, argv, catch_exceptions=False)


@pytest.mark.usefixtures("signing")
@pytest.mark.parametrize("fork", ["kernel/linux", "stranger/linux"])
def test_results_are_uploaded_with_nothing_stored(
    github: StandIn,
    service: Running,
    issuer: Issuer,
    tree: Repository,
    measured: Run,
    tmp_path: Path,
    fork: str,
) -> None:
    base, head = commits(measured)
    pull = github.kept.pull(tree.name, base=base, head=head, head_repository=fork)
    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path))

    ended = publish(github, service.url + "/", tmp_path, workflow_run(pull))

    assert ended.exit_code == 0, ended.output
    (kept,) = service.get("/runs", "read")["items"]
    host = "github:kernel/linux" if fork == "kernel/linux" else "github-fork:kernel/linux"
    assert kept["host"] == host
    assert [
        each["name"]
        for each in service.rows("SELECT name FROM token WHERE scopes = '{upload}' AND host != ''")
    ] == [host]
    assert service.rows("SELECT of_history FROM run") == [{"of_history": False}]
    assert issuer.identities
    assert all(secret not in ended.output for secret in (JOB_SECRET, *issuer.identities, "cliffwatch_"))
    assert not any(name.startswith("ACTIONS_ID_TOKEN") for name in os.environ)


@pytest.mark.usefixtures("signing")
def test_a_stored_token_goes_first(
    github: StandIn,
    service: Running,
    issuer: Issuer,
    tree: Repository,
    measured: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLIFFWATCH_TOKEN", service.tokens["upload"])
    pull = github.kept.pull(tree.name, base=commits(measured)[0], head=commits(measured)[1])
    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path))

    assert publish(github, service.url, tmp_path, workflow_run(pull)).exit_code == 0

    assert issuer.identities == []


def test_a_job_without_either_says_what_to_give_it(
    github: StandIn,
    service: Running,
    tree: Repository,
    measured: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CLIFFWATCH_TOKEN", raising=False)
    pull = github.kept.pull(tree.name, base=commits(measured)[0], head=commits(measured)[1])
    tree.artifacts[1] = (RUN, ARTIFACT, zipped(measured, tmp_path))

    ended = publish(github, service.url, tmp_path, workflow_run(pull))

    assert (ended.exit_code, "id-token: write" in ended.output) == (2, True)
    assert service.rows("SELECT * FROM run") == []


def asked(issuer: Issuer, service: str, **more: Any) -> tuple[str | Failure, list[float]]:
    waited: list[float] = []
    request = IdentityRequest(more.get("address", issuer.job_address()), more.get("secret", JOB_SECRET))
    return job_token(service, request, fork=False, sleep=waited.append), waited


def test_a_refusal_is_said_and_not_tried_again(service: Running, issuer: Issuer) -> None:
    issuer.more = {"job_workflow_ref": "stranger/linux/.github/workflows/build.yml@refs/heads/x"}
    failure, waited = asked(issuer, service.url)
    assert isinstance(failure, Failure)
    assert "is none that publishes here" in failure.message
    assert "docs/github.md" in failure.next_step
    assert (failure.whose, waited, len(issuer.identities)) == ("usage", [], 1)


def test_a_token_for_another_service_is_of_no_use_to_this_one(service: Running, issuer: Issuer) -> None:
    issuer.more = {}
    given, _ = asked(issuer, service.url.replace("127.0.0.1", "localhost"))
    assert isinstance(given, Failure)
    assert "it is for another audience" in given.message


def test_each_try_has_an_identity_of_its_own(service: Running, issuer: Issuer) -> None:
    issuer.status = 500
    failure, waited = asked(issuer, service.url)
    assert isinstance(failure, Failure)
    assert "cannot be asked for a token" in failure.message
    assert (failure.whose, len(waited)) == ("host", 3)
    assert len(set(issuer.identities)) == 4


@pytest.mark.parametrize(
    "more", [{"secret": "another"}, {"address": "http://127.0.0.1:1/"}, {"address": "x"}]
)
def test_an_identity_that_github_does_not_give_is_a_failure(issuer: Issuer, more: dict[str, str]) -> None:
    failure, waited = asked(issuer, AUDIENCE, **more)
    assert isinstance(failure, Failure)
    assert "GitHub signs no identity for this job" in failure.message
    assert len(waited) == 3
    assert JOB_SECRET not in f"{failure}"


def test_the_request_is_read_once_and_hides_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", "https://pipelines.example.org/x")
    assert read_identity_request() is None
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", "https://pipelines.example.org/x")
    monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", JOB_SECRET)
    assert JOB_SECRET not in repr(read_identity_request())
    assert read_identity_request() is None
