"""A service with an App, installed on a repository of a GitHub that is a stand-in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app_world import SECRET, World, app_key
from github_stand_in.server import StandIn, stand_in
from service_running import Clock, serving

from cliffwatch_service.github.app.files import AppIdentity, WebhookSecret, app_files
from cliffwatch_service.runtime.settings import Settings


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
            id=app.identity, slug=app.slug, name=app.slug, owner="bpf", page="https://github.com/apps/cliffwatch"
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
