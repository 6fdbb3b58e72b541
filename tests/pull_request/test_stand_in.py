"""The stand-in of GitHub answers as GitHub says of itself, and notices who does not ask so."""

import json
from typing import Any

import httpx2
import pytest
from github_stand_in import webhooks
from github_stand_in.answers import HANDLERS
from github_stand_in.description import Asked, description
from github_stand_in.server import StandIn, stand_in
from stand_in_client import REPOSITORY, Moment


def ask(github: StandIn, method: str, path: str, *, token: str | None = None, **more: Any) -> httpx2.Response:
    token = token or github.kept.token("cliffwatch[bot]")
    headers = {"authorization": f"token {token}", "accept": "application/vnd.github+json"}
    with httpx2.Client(base_url=github.url, headers=headers, trust_env=False) as client:
        return client.request(method, path, **more)


def test_comments_are_kept(github: StandIn) -> None:
    made = ask(github, "POST", f"/repos/{REPOSITORY}/issues/1/comments", json={"body": "first"})
    edited = ask(
        github, "PATCH", f"/repos/{REPOSITORY}/issues/comments/{made.json()['id']}", json={"body": "second"}
    )
    listed = ask(github, "GET", f"/repos/{REPOSITORY}/issues/1/comments").json()

    assert (made.status_code, edited.status_code) == (201, 200)
    assert [(each["body"], each["user"]["login"], each["user"]["type"]) for each in listed] == [
        ("second", "cliffwatch[bot]", "Bot")
    ]


def test_lists_come_in_pages(github: StandIn) -> None:
    for index in range(5):
        github.kept.comment(REPOSITORY, 1, "octocat", f"{index}")

    first = ask(github, "GET", f"/repos/{REPOSITORY}/issues/1/comments?per_page=2")
    last = ask(github, "GET", httpx2.URL(first.links["last"]["url"]).raw_path.decode())

    assert [each["body"] for each in first.json()] == ["0", "1"]
    assert [each["body"] for each in last.json()] == ["4"]
    assert "next" not in last.links


@pytest.mark.parametrize(
    ("method", "path", "body", "wrong"),
    [
        ("GET", "/repos/octocat/linux/isues", None, "no such operation"),
        ("GET", "/repos/octocat/linux/issues/1/comments?pages=2", None, "query parameter pages is not known"),
        (
            "GET",
            "/repos/octocat/linux/issues/1/comments?per_page=101",
            None,
            "per_page must be from 1 to 100",
        ),
        ("GET", "/repos/octocat/linux/issues/one/comments", None, "path issue_number"),
        ("POST", "/repos/octocat/linux/issues/1/comments", {"text": "x"}, "'body' is a required property"),
        (
            "POST",
            "/repos/octocat/linux/issues/1/comments",
            {"body": "x", "reply": 1},
            "property reply is not known",
        ),
        (
            "POST",
            "/repos/octocat/linux/check-runs",
            {"name": "x", "head_sha": "y", "status": "done"},
            "'done' is not one of",
        ),
    ],
)
def test_what_the_description_does_not_allow_is_a_violation(
    github: StandIn, method: str, path: str, body: Any, wrong: str
) -> None:
    answer = ask(github, method, path, **({} if body is None else {"json": body}))

    assert answer.status_code in (404, 422)
    assert wrong in "\n".join(github.violations)
    github.violations.clear()


def test_a_violation_fails_its_test() -> None:
    with pytest.raises(AssertionError, match="no such operation"), stand_in(lambda: 0.0) as running:
        ask(running, "GET", "/nowhere")


def test_tokens_expire_and_installations_are_revoked(github: StandIn, moment: Moment) -> None:
    installation = next(iter(github.kept.installations.values()))
    token = github.kept.token("cliffwatch[bot]", installation=installation.identity)
    path = f"/repos/{REPOSITORY}/issues/1/comments"
    assert ask(github, "GET", path, token=token).status_code == 200

    moment.seconds += 3601
    assert ask(github, "GET", path, token=token).status_code == 401

    fresh = github.kept.token("cliffwatch[bot]", installation=installation.identity)
    installation.revoked = True
    assert ask(github, "GET", path, token=fresh).status_code == 401


def test_a_locked_pull_request_takes_no_comment(github: StandIn) -> None:
    github.kept.repositories[REPOSITORY].pulls[1].locked = True

    refused = ask(github, "POST", f"/repos/{REPOSITORY}/issues/1/comments", json={"body": "first"})

    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "Unable to create comment because issue is locked.",
    )


@pytest.mark.parametrize(
    ("kind", "status"), [("secondary", 403), ("too-many", 429), ("primary", 403), ("502", 502)]
)
def test_faults_are_those_of_github(github: StandIn, kind: Any, status: int, moment: Moment) -> None:
    github.faults.next("issues/list-comments", kind)

    refused, after = (ask(github, "GET", f"/repos/{REPOSITORY}/issues/1/comments") for _ in range(2))

    assert (refused.status_code, after.status_code) == (status, 200)
    assert ("retry-after" in refused.headers) == (kind in ("secondary", "too-many"))
    if kind == "primary":
        assert refused.headers["x-ratelimit-remaining"] == "0"
        assert float(refused.headers["x-ratelimit-reset"]) == moment.seconds + 1


def test_a_lost_answer_was_done_and_a_dropped_one_was_not(github: StandIn) -> None:
    github.faults.next("issues/create-comment", "lost", "dropped")

    for _ in range(2):
        with pytest.raises(httpx2.TransportError):
            ask(github, "POST", f"/repos/{REPOSITORY}/issues/1/comments", json={"body": "x"})

    assert len(github.kept.comments_of(REPOSITORY, 1)) == 1


def test_answers_have_the_form_that_github_says(github: StandIn) -> None:
    """Of the operations that keep state, on a repository that has one of everything."""
    kept = github.kept.repositories[REPOSITORY]
    installation = next(iter(github.kept.installations.values()))
    token = github.kept.token("cliffwatch[bot]", installation=installation.identity)
    comment = github.kept.comment(REPOSITORY, 1, "octocat", "text")
    kept.artifacts[5] = (7, "cliffwatch-results", b"PK")
    ask(
        github,
        "POST",
        f"/repos/{REPOSITORY}/check-runs",
        token=token,
        json={"name": "c", "head_sha": "2" * 40},
    ).raise_for_status()
    repo, head = f"/repos/{REPOSITORY}", "2" * 40
    check = next(iter(kept.checks))
    paths = [
        *(
            repo,
            f"{repo}/pulls",
            f"{repo}/pulls/1",
            f"{repo}/pulls/1/commits",
            f"{repo}/pulls/1/files",
            f"{repo}/issues/1",
        ),
        *(
            f"{repo}/commits",
            f"{repo}/commits/{head}",
            f"{repo}/commits/{head}/pulls",
            f"{repo}/commits/{head}/check-runs",
        ),
        *(
            f"{repo}/compare/{'1' * 40}...{head}",
            f"{repo}/contents/kernel/bpf/core.c?ref={head}",
            f"{repo}/check-runs/{check}",
        ),
        *(f"{repo}/contents/kernel?ref={head}", f"{repo}/branches/master", f"{repo}/git/ref/heads/master"),
        *(
            f"{repo}/collaborators/octocat/permission",
            f"{repo}/issues/1/comments",
            f"{repo}/issues/comments/{comment.identity}",
        ),
        *(
            f"{repo}/issues/comments/{comment.identity}/reactions",
            f"{repo}/actions/runs/7/artifacts",
            "/installation/repositories",
        ),
    ]

    wrong = {}
    for path in paths:
        answer = ask(github, "GET", path, token=token)
        assert answer.status_code == 200, (path, answer.text)
        read, _ = description().read(_asked("GET", path))
        assert read is not None
        assert read.operation.name in HANDLERS
        wrong[path] = description().answer_errors(read.operation, 200, answer.json())

    assert {path: errors for path, errors in wrong.items() if errors} == {}, wrong


def _asked(method: str, path: str) -> Any:
    path, _, query = path.partition("?")
    return Asked(method, path, query, {"user-agent": "test"}, b"")


def test_every_kept_operation_is_one_of_the_description() -> None:
    names = {operation.name for _, _, operation in description()._operations}

    assert set(HANDLERS) <= names


def test_webhooks_are_signed_examples() -> None:
    content = webhooks.payload("pull_request", "opened", pull_request={"title": "mine"})
    delivery = webhooks.delivery("pull_request", content, "secret")

    assert json.loads(delivery.body)["pull_request"]["title"] == "mine"
    assert json.loads(delivery.body)["repository"]["full_name"]
    assert len(list(webhooks.examples())) > 250
