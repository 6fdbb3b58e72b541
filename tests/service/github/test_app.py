"""The App: made by its manifest, kept where the service alone reads, its secrets changed without losing a
webhook.
"""

import json
import queue
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import rich_click as click
from app_world import SECRET, World, app_key
from click.testing import CliRunner
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from github_stand_in.server import StandIn
from github_stand_in.webhooks import delivery
from service_running import Clock

from cliffwatch.failure import Failure, HttpFailure
from cliffwatch_service.command import github as command
from cliffwatch_service.github.app import setting_up
from cliffwatch_service.github.app.files import AppFiles, AppIdentity, WebhookSecret, app_files
from cliffwatch_service.github.app.manifest import EVENTS, PERMISSIONS, form_page, manifest
from cliffwatch_service.github.calling import GitHub
from cliffwatch_service.github.webhooks.looks import _READERS
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings, read_settings

WEBHOOK = "https://cliffwatch.example.org/api/v1/github/webhook"
CODE = "a180b1a3d263c81bc6441d7b990bae27d4c10679"


@pytest.fixture
def files(settings: Settings) -> AppFiles:
    return app_files(settings)


@pytest.fixture
def asking(settings: Settings, files: AppFiles, clock: Clock) -> Any:
    github = GitHub(settings.github_api, files, clock.now)
    yield github
    github.close()


@pytest.fixture
def made(hub: StandIn) -> None:
    """GitHub has made the App and waits for its code."""
    private, _ = app_key()
    hub.kept.app.conversions[CODE] = {
        "id": hub.kept.app.identity,
        "slug": "cliffwatch",
        "name": "cliffwatch",
        "pem": private,
        "webhook_secret": "from GitHub",
        "html_url": "https://github.com/apps/cliffwatch",
    }


def test_the_manifest_asks_for_no_more_than_is_explained() -> None:
    content = manifest(
        name="x", pages_url="https://c", webhook_url=WEBHOOK, redirect_url="http://127.0.0.1/made"
    )
    assert content["public"] is False
    assert content["default_permissions"] == {
        "metadata": "read",
        "contents": "read",
        "pull_requests": "write",
        "checks": "write",
        "issues": "write",
    }
    assert set(content["default_events"]) == set(_READERS) - {"installation", "installation_repositories"}
    assert set(EVENTS) == set(content["default_events"])
    assert all(why for _, why in PERMISSIONS.values())


def test_the_page_shows_what_it_sends_and_runs_nothing() -> None:
    page = form_page("https://github.com/settings/apps/new", 'a"b', {"name": '"><script>'})
    assert "<script>" not in page
    assert 'value="{&quot;name&quot;: &quot;\\&quot;&gt;&lt;script&gt;&quot;}"' in page


@pytest.mark.usefixtures("made")
def test_a_code_becomes_an_app_whose_files_nobody_else_reads(
    asking: GitHub, files: AppFiles, hub: StandIn
) -> None:
    app = setting_up.convert_code(asking, CODE)
    assert not isinstance(app, Failure)
    assert setting_up.keep_app(asking, files, app, WEBHOOK) is None
    assert hub.kept.app.webhook == {
        "url": WEBHOOK,
        "content_type": "json",
        "insecure_ssl": "0",
        "secret": "from GitHub",
    }
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in files.folder.iterdir()}
    assert modes == {"app.json": 0o600, "private-key.pem": 0o600, "webhook-secrets.json": 0o600}
    identity = files.identity()
    assert identity is not None
    assert identity.login == "cliffwatch[bot]"


@pytest.mark.usefixtures("made")
def test_a_code_serves_once(asking: GitHub) -> None:
    setting_up.convert_code(asking, CODE)
    again = setting_up.convert_code(asking, CODE)
    assert isinstance(again, Failure)
    assert "begin anew" in again.next_step


@pytest.mark.parametrize(
    ("pasted", "code"),
    [
        (CODE, CODE),
        (f"  {CODE}\n", CODE),
        (f"http://127.0.0.1:1/?code={CODE}&state=x", CODE),
        ("../../x", None),
        ("", None),
    ],
)
def test_what_is_pasted_is_read_as_a_code(pasted: str, code: str | None) -> None:
    found = setting_up.extract_code(pasted)
    assert found == code if code else isinstance(found, Failure)


@pytest.mark.usefixtures("made")
def test_the_command_makes_the_app_with_a_code_that_is_pasted(
    hub: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLIFFWATCH_GITHUB_API", hub.url)
    monkeypatch.setenv("CLIFFWATCH_PAGES_URL", "https://cliffwatch.example.org")
    page = tmp_path / "page.html"
    # The stand-in's clock stands still; the command's does not.
    monkeypatch.setattr(hub.kept, "now", __import__("time").time)
    arguments = ["setup", "--by-hand", str(page), "--data-dir", str(tmp_path / "data")]
    done = CliRunner().invoke(command.github, arguments, input=f"http://127.0.0.1:1/?code={CODE}&state=x\n")
    assert done.exit_code == 0, done.output
    for permission, (_, why) in PERMISSIONS.items():
        assert permission in done.output
        assert why.split()[0] in done.output
    assert "cliffwatch is set up" in done.output
    assert "from GitHub" not in done.output
    assert "PRIVATE KEY" not in done.output
    assert json.dumps(WEBHOOK)[1:-1] in page.read_text()
    again = CliRunner().invoke(command.github, arguments)
    assert (again.exit_code, "--again" in again.output) == (2, True)


def test_a_browser_of_this_machine_brings_the_code_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only with the state that the page was made with: another site cannot give us an App of its own."""
    said: queue.SimpleQueue[str] = queue.SimpleQueue()
    monkeypatch.setattr(click, "echo", said.put)
    with ThreadPoolExecutor(1) as beside:
        coming = beside.submit(
            command._wait_for_redirect, lambda redirect: f"the page, back to {redirect}", "the state"
        )
        address = said.get(timeout=60).split()[1].rstrip("/")
        with httpx2.Client(trust_env=False) as http:
            assert http.get(f"{address}/").text == f"the page, back to {address}/made"
            http.get(f"{address}/made", params={"code": "1" * 40, "state": "another"})
            assert not coming.done()
            assert "Done" in http.get(f"{address}/made", params={"code": CODE, "state": "the state"}).text
        assert coming.result(timeout=60) == CODE


def test_both_webhook_secrets_are_taken_during_the_change(world: World, asking: GitHub, clock: Clock) -> None:
    files = app_files(world.running.service.settings)
    assert setting_up.rotate_webhook_secret(asking, files, WEBHOOK, clock.now()) is None
    fresh = world.hub.kept.app.webhook["secret"]
    assert fresh != SECRET
    for secret in (SECRET, fresh):
        assert world.post(delivery("ping", {}, secret)).status_code == 202
    clock.pass_(minutes=61)
    assert world.post(delivery("ping", {}, SECRET)).status_code == 401
    assert world.post(delivery("ping", {}, fresh)).status_code == 202


def test_a_change_that_github_did_not_answer_locks_nobody_out(
    world: World, asking: GitHub, clock: Clock
) -> None:
    files = app_files(world.running.service.settings)
    world.hub.faults.next("apps/update-webhook-config-for-app", "lost")
    failure = setting_up.rotate_webhook_secret(asking, files, WEBHOOK, clock.now())
    assert failure is not None
    clock.pass_(hours=5)
    for secret in (SECRET, world.hub.kept.app.webhook["secret"]):
        assert world.post(delivery("ping", {}, secret)).status_code == 202
    assert setting_up.rotate_webhook_secret(asking, files, WEBHOOK, clock.now()) is None
    clock.pass_(hours=2)
    assert len(files.accepted_secrets(clock.now())) == 1


def test_a_key_is_taken_once_github_knows_it(world: World, asking: GitHub) -> None:
    files = app_files(world.running.service.settings)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()
    before = files.private_key()
    refused = setting_up.rotate_private_key(asking, files, pem)
    assert refused is not None
    assert files.private_key() == before
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    world.hub.kept.app.public_key = public.decode()
    assert setting_up.rotate_private_key(asking, files, pem) is None
    assert files.private_key() == pem
    assert not isinstance(asking.as_app("GET", "/app"), HttpFailure)


@pytest.mark.parametrize(
    "pem", ["", "no key", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"]
)
def test_what_is_no_key_is_refused_before_github_is_asked(world: World, asking: GitHub, pem: str) -> None:
    asked = len(world.hub.requests)
    assert setting_up.rotate_private_key(asking, app_files(world.running.service.settings), pem) is not None
    assert len(world.hub.requests) == asked


@pytest.mark.parametrize(
    "address",
    [
        "http://api.github.com",
        "https://me:secret@api.github.com",
        "ftp://x",
        "https://x?y",
        "http://10.0.0.1",
        "https://",
    ],
)
def test_github_is_only_asked_at_an_address_that_keeps_secrets(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLIFFWATCH_GITHUB_API", address)
    with pytest.raises(Refusal) as refused:
        read_settings()
    assert "github_api" in str(refused.value) or "GITHUB_API" in str(refused.value)


def test_no_secret_is_in_what_is_shown_of_an_app(files: AppFiles) -> None:
    """Of a value in a log or a traceback."""
    files.keep_webhook_secrets((WebhookSecret(secret=SECRET, until=None),))
    identity = AppIdentity(id=1, slug="c", name="c", owner="o", page="https://github.com/apps/c")
    made = setting_up.ConvertedApp(identity=identity, pem=app_key()[0], webhook_secret=SECRET)
    assert SECRET not in repr((files, files.webhook_secrets(), made))
    assert "PRIVATE KEY" not in repr(made)


def test_a_redirect_and_a_next_page_elsewhere_are_not_followed(world: World, asking: GitHub) -> None:
    """Neither takes a token anywhere."""
    for elsewhere in (
        "http://169.254.169.254/latest",
        "https://api.github.com.evil.example/x",
        "file:///etc/passwd",
    ):
        assert not asking.is_here(elsewhere)
    with pytest.raises(ValueError, match="not where GitHub is"):
        asking.answer_of("GET", "http://169.254.169.254/", {}, b"")
    assert asking.is_here(f"{world.hub.url}/repos/x/y")
    for no_address in ("https://[::1", "https://a\nb"):
        assert asking._target(world.hub.url, no_address) is None
    assert parse_qs(urlsplit("?a=1").query) == {"a": ["1"]}
