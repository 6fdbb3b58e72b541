"""Webhooks: only GitHub's are taken, each once, and quickly."""

import gzip
import time
import uuid
from typing import Any

import pytest
from app_world import SECRET, World
from github_stand_in.webhooks import delivery, examples

from cliffwatch_service.github.webhooks.signatures import signature_of
from cliffwatch_service.tasks.tasks import forget_deliveries

PING = {"zen": "Keep it logically awesome.", "hook_id": 1}


def test_every_published_webhook_is_taken_without_an_error(world: World) -> None:
    """What nobody reads is acknowledged, and what is read names an installation that is not there."""
    sent = 0
    for event, content in examples():
        assert world.sent(event, content) == {"fresh": True}, event
        sent += 1
    assert sent > 200
    world.do()
    failed = world.running.rows("SELECT task_name, args FROM procrastinate_jobs WHERE status = 'failed'")
    assert failed == []
    assert world.jobs() == []


def test_a_webhook_is_answered_in_less_than_a_second(world: World, pull: Any) -> None:
    longest = 0.0
    for _ in range(20):
        sent = delivery("pull_request", world.of_pull(pull), SECRET)
        began = time.monotonic()
        assert world.post(sent).status_code == 202
        longest = max(longest, time.monotonic() - began)
    assert longest < 1


@pytest.mark.parametrize(
    ("signature", "status"),
    [
        (None, 401),
        ("", 401),
        ("sha256=" + "0" * 64, 401),
        ("sha1=" + "0" * 40, 401),
        ("sha256=" + "ü" * 64, 401),
    ],
)
def test_a_forged_signature_is_refused(world: World, signature: str | None, status: int) -> None:
    sent = delivery("ping", PING, SECRET)
    sent.headers.pop("x-hub-signature-256")
    if signature is not None:
        sent.headers["x-hub-signature-256"] = signature.encode()  # type: ignore[assignment]
    assert world.post(sent).status_code == status
    assert world.running.rows("SELECT * FROM github_delivery") == []


def test_the_signature_is_of_the_bytes_as_they_came(world: World) -> None:
    sent = delivery("ping", PING, SECRET)
    with world.running.http(None) as http:
        answer = http.post("/api/v1/github/webhook", content=sent.body + b" ", headers=sent.headers)
    assert (answer.status_code, answer.json()["title"]) == (401, "signature refused")


def test_another_secret_is_refused_and_a_token_is_none(world: World) -> None:
    sent = delivery("ping", PING, "another secret")
    assert world.post(sent).status_code == 401
    assert world.post(sent, authorization=f"Bearer {world.running.tokens['admin']}").status_code == 401


def test_what_is_no_plain_json_is_refused_before_it_is_read(world: World) -> None:
    sent = delivery("ping", PING, SECRET)
    assert world.post(sent, **{"content-type": "application/x-www-form-urlencoded"}).status_code == 415
    packed = delivery("ping", PING, SECRET)
    with world.running.http(None) as http:
        headers = {**packed.headers, "content-encoding": "gzip"}
        answer = http.post("/api/v1/github/webhook", content=gzip.compress(packed.body), headers=headers)
    assert answer.status_code == 415


def test_a_body_that_is_too_large_is_refused(world: World) -> None:
    sent = delivery("ping", {"zen": "x" * (5 << 20)}, SECRET)
    assert world.post(sent).status_code == 413


def test_a_signed_body_that_is_no_json_is_refused(world: World) -> None:
    sent = delivery("ping", PING, SECRET)
    body = b"{"
    with world.running.http(None) as http:
        headers = {**sent.headers, "x-hub-signature-256": signature_of(body, SECRET)}
        assert http.post("/api/v1/github/webhook", content=body, headers=headers).status_code == 400


def test_a_delivery_that_comes_again_is_known(world: World, pull: Any) -> None:
    identity = str(uuid.uuid4())
    assert world.sent("pull_request", world.of_pull(pull), identity=identity) == {"fresh": True}
    assert world.sent("pull_request", world.of_pull(pull), identity=identity) == {"fresh": False}
    assert (
        len(world.running.rows("SELECT id FROM procrastinate_jobs WHERE task_name = 'look-at-pull-request'"))
        == 1
    )


def test_what_a_delivery_said_is_not_kept(world: World, pull: Any) -> None:
    world.sent("pull_request", {**world.of_pull(pull), "note": "something that nobody else knows"})
    assert set(world.running.rows("SELECT * FROM github_delivery")[0]) == {
        "id",
        "event",
        "action",
        "received",
    }
    kept = world.running.rows("SELECT args::text AS args FROM procrastinate_jobs")
    assert "nobody else" not in str(kept)


def test_deliveries_are_forgotten_after_a_month(world: World) -> None:
    world.sent("ping", PING)
    world.running.clock.pass_(days=29)
    with world.running.service.transaction() as connection:
        assert forget_deliveries(connection, world.running.clock.now()) == 0
    world.running.clock.pass_(days=2)
    with world.running.service.transaction() as connection:
        assert forget_deliveries(connection, world.running.clock.now()) == 1


def test_a_private_service_takes_webhooks_too(world: World) -> None:
    settings = world.running.service.settings.model_copy(update={"public_reading": False})
    object.__setattr__(world.running.service, "settings", settings)
    assert world.sent("ping", PING) == {"fresh": True}


def test_without_an_app_nothing_is_taken(world: World) -> None:
    (world.running.service.settings.data_dir / "github" / "webhook-secrets.json").unlink()
    answer = world.post(delivery("ping", PING, SECRET))
    assert (answer.status_code, "cliffwatch github setup" in answer.json()["detail"]) == (401, True)


def test_odd_payloads_are_taken_and_lead_nowhere(world: World) -> None:
    odd: list[Any] = [
        [],
        {
            "installation": {"id": True},
            "repository": {"id": -1},
            "pull_request": {"number": 1.5},
            "action": "opened",
        },
        {
            "installation": {"id": 2**60},
            "repository": {"id": 1},
            "pull_request": {"number": 1},
            "action": "opened",
        },
        {"action": {"opened": 1}},
        {"ref": "refs/heads/x", "repository": {"full_name": "../.."}},
        {"ref": 5, "repository": None},
        {
            "action": "created",
            "issue": {"pull_request": {}, "number": "7"},
            "comment": {"body": ["/bench"], "id": 7},
        },
        {"action": "requested", "check_suite": {"pull_requests": [None, 5, {"number": None}]}},
    ]
    for content in odd:
        for event in ("push", "pull_request", "issue_comment", "check_suite", "check_run", "installation"):
            assert world.post(delivery(event, content, SECRET)).status_code == 202
    assert world.running.rows("SELECT id FROM procrastinate_jobs") == []
