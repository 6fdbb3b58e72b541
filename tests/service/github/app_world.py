"""What GitHub sends to a service, and what the service said there."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from github_stand_in.kept import Comment, Repository
from github_stand_in.server import StandIn, stand_in
from github_stand_in.webhooks import Delivery, delivery, payload
from service_running import Clock, Running, serving

from cliffwatch_service.github.app.files import AppIdentity, WebhookSecret, app_files
from cliffwatch_service.github.calling import PostingApi
from cliffwatch_service.runtime.settings import Settings

SECRET = "a secret of webhooks"
NAME = "bpf/linux"
OUTSIDER = {"login": "mallory", "association": "NONE", "head_repository": "mallory/linux"}


@cache
def app_key() -> tuple[str, str]:
    """A private key and its public one, in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


@dataclass(frozen=True)
class World:
    """A running service, the stand-in, and the number of the App's installation there."""

    running: Running
    hub: StandIn
    installation: int

    @property
    def repository(self) -> Repository:
        return self.hub.kept.repositories[NAME]

    def post(self, sent: Delivery, **headers: str) -> Any:
        with self.running.http(None) as http:
            return http.post("/api/v1/github/webhook", content=sent.body, headers={**sent.headers, **headers})

    def made(self, event: str, action: str | None = None, **kept: Any) -> dict[str, Any]:
        """A payload of the published examples, about this repository."""
        known = {
            "installation": {"id": self.installation},
            "repository": {"id": self.repository.identity, "full_name": NAME},
        }
        return payload(event, action, **known, **kept)

    def sent(self, event: str, content: dict[str, Any], **more: Any) -> Any:
        answer = self.post(delivery(event, content, SECRET, **more))
        assert answer.status_code == 202, answer.text
        return answer.json()

    def of_pull(self, pull: Any, action: str = "opened") -> dict[str, Any]:
        content = self.made(
            "pull_request", "opened", number=pull.number, pull_request={"number": pull.number}
        )
        return {**content, "action": action}

    def of_comment(self, comment: Comment) -> dict[str, Any]:
        about = {"id": comment.identity, "body": comment.body, "user": {"login": comment.login}}
        return self.made(
            "issue_comment",
            "created",
            issue={"number": comment.number, "pull_request": {"url": "x"}},
            comment=about,
        )

    def open(self, pull: Any, action: str = "opened") -> None:
        self.sent("pull_request", self.of_pull(pull, action))
        self.do()

    def say(self, pull: Any, login: str, text: str) -> Comment:
        """Somebody writes a comment, GitHub sends it, and the service does what it has to do."""
        comment = self.hub.kept.comment(NAME, pull.number, login, text)
        self.sent("issue_comment", self.of_comment(comment))
        self.do()
        return comment

    def do(self) -> None:
        self.running.do_tasks()

    def ours(self, pull: Any) -> list[Comment]:
        """What the App wrote, the oldest first."""
        return self.hub.kept.comments_of(NAME, pull.number, self.hub.kept.app.login)

    def jobs(self) -> list[tuple[str, str, str]]:
        """Base, head (their first characters) and state of all jobs, the oldest first."""
        rows = self.running.rows(
            "SELECT base_commit, head_commit, state FROM job JOIN request ON request.id = request_id"
            " ORDER BY job.created, (SELECT min(measurement_id) FROM github_measurement_request AS of"
            " WHERE of.request_id = request.id), platform, mode"
        )
        return [(row["base_commit"][:4], row["head_commit"][:4], row["state"]) for row in rows]

    def push(self, pull: Any, head: str, **more: Any) -> None:
        """Somebody pushes another head, with or without force; nothing is sent."""
        self.repository.commit(
            head, "bpf: another change", pull.base, files={"kernel/bpf/core.c": head}, **more
        )
        pull.head = head


def wait_by_clock(world: World, monkeypatch: Any) -> list[float]:
    """From now on who waits within a task moves the service's clock; how many seconds, each time."""
    waits: list[float] = []

    async def sleep(_: Any, seconds: float) -> None:
        waits.append(seconds)
        world.running.clock.pass_(seconds=seconds)

    monkeypatch.setattr(PostingApi, "sleep", sleep)
    return waits


def do_all(world: World, rounds: int = 100) -> int:
    """Does every task, also those that wait for another time, until none is left; how many
    rounds that took.
    """
    for done in range(rounds):
        world.do()
        left = world.running.rows("SELECT id FROM procrastinate_jobs WHERE status = 'todo'")
        if not left:
            return done
        world.running.clock.pass_(minutes=2)
        with world.running.service.transaction() as connection:
            connection.execute("UPDATE procrastinate_jobs SET scheduled_at = now() WHERE status = 'todo'")
    raise AssertionError("tasks wait for ever")


def body_of(content: Any) -> bytes:
    return json.dumps(content).encode()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hub(clock: Clock) -> Iterator[StandIn]:
    """The stand-in, whose time is the service's."""
    with stand_in(lambda: clock.now().timestamp()) as running:
        running.kept.app.public_key = app_key()[1]
        yield running


@pytest.fixture
def settings(tmp_path: Path, hub: StandIn) -> Settings:
    return Settings(
        data_dir=tmp_path,
        requests_per_minute=100_000,
        github_api=hub.url,
        pages_url="https://cliffwatch.example.org",
    )


@pytest.fixture
def world(database: str, settings: Settings, clock: Clock, hub: StandIn) -> Iterator[World]:
    files = app_files(settings)
    app = hub.kept.app
    files.keep_identity(
        AppIdentity(
            id=app.identity,
            slug=app.slug,
            name=app.slug,
            owner="bpf",
            page="https://github.com/apps/cliffwatch",
        )
    )
    files.keep_private_key(app_key()[0])
    files.keep_webhook_secrets((WebhookSecret(secret=SECRET, until=None),))
    hub.kept.repository("bpf/linux", permissions={"alice": "write", "mallory": "read"})
    installation = hub.kept.install("bpf/linux")
    with serving(database, settings, clock) as running:
        running.enrol("emulated-x86-64", "icount")
        yield World(running, hub, installation.identity)


@pytest.fixture
def pull(world: World) -> Any:
    """A pull request from a branch of the repository itself."""
    return world.hub.kept.pull("bpf/linux")
