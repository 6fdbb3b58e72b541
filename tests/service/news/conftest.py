"""A service with a followed branch, a real mail server and a real web server that news go to."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from github_stand_in.server import StandIn, stand_in
from news_world import Mailbox, NewsWorld, Receiver, receiving
from service_running import Clock, serving

from cliffwatch_service.runtime.settings import Settings


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hub(clock: Clock) -> Iterator[StandIn]:
    with stand_in(lambda: clock.now().timestamp()) as running:
        yield running


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    """An SMTP server at a free port of this machine."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    box = Mailbox(port)
    controller = Controller(box, hostname="127.0.0.1", port=port, ready_timeout=60)
    controller.start()
    yield box
    controller.stop()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture
def settings(tmp_path: Path, mailbox: Mailbox, receiver: Receiver, hub: StandIn) -> Settings:
    return Settings(
        data_dir=tmp_path,
        requests_per_minute=100_000,
        pages_url="https://cliffwatch.example.org",
        github_api=hub.url,
        mail_server=f"127.0.0.1:{mailbox.port}",
        mail_security="none",
        mail_from="cliffwatch@example.org",
        news_mail=("bpf@lists.example.org", "@team.example.org"),
        news_webhooks=(f"{receiver.url}/hooks",),
        news_repositories=("bpf/linux",),
        news_per_day=4,
    )


@pytest.fixture
def world(
    database: str, settings: Settings, clock: Clock, mailbox: Mailbox, receiver: Receiver, hub: StandIn
) -> Iterator[NewsWorld]:
    with serving(database, settings, clock) as running:
        yield NewsWorld(running, mailbox, receiver, hub)
