"""Nothing goes where the settings do not allow it, however the address is written and whoever asks."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cliffwatch_service.history.news.mail import Letter, send_mail
from cliffwatch_service.history.news.sending import NotSent
from cliffwatch_service.history.news.webhook import send_webhook
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.destinations import (
    allows_mail,
    allows_repository,
    allows_webhook,
    refuse_webhook,
)
from cliffwatch_service.runtime.settings import Settings, read_settings

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ALLOWED = (
    "https://hooks.example.org/team",
    "https://other.example.org:8443/",
    "https://exact.example.org/in?room=1",
)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("https://hooks.example.org/team", True),
        ("https://hooks.example.org/team/a?b=c", True),
        ("https://HOOKS.example.org/team/a", True),
        ("https://hooks.example.org:443/team/a", True),
        ("https://other.example.org:8443/x", True),
        ("https://exact.example.org/in?room=1", True),
        ("https://exact.example.org/in?room=2", False),
        ("http://hooks.example.org/team/a", False),
        ("https://hooks.example.org/teams", False),
        ("https://hooks.example.org/", False),
        ("https://hooks.example.org/team/../admin", False),
        ("https://hooks.example.org/team/%2e%2e/admin", False),
        ("https://hooks.example.org/team/..%2fadmin", False),
        ("https://hooks.example.org/team\\..\\admin", False),
        ("https://hooks.example.org:8443/team", False),
        ("https://other.example.org/x", False),
        ("https://hooks.example.org.evil.example/team", False),
        ("https://hooks.example.org@evil.example/team", False),
        ("https://evil.example#@hooks.example.org/team", False),
        ("https://evil.example\\@hooks.example.org/team", False),
        ("https://hooks.example.org%2eevil.example/team", False),
        ("https://hooks.example.org/team\r\nHost: evil.example", False),
        ("https://169.254.169.254/latest/meta-data", False),
        ("http://127.0.0.1:8000/api/v1/tokens", False),
        ("http://[::1]:8000/", False),
        ("https://0x7f000001/team", False),
        ("file:///etc/passwd", False),
        ("gopher://hooks.example.org/team", False),
        ("//hooks.example.org/team", False),
        ("https://hooks.example.org:99999/team", False),
        ("https://höoks.example.org/team", False),
        ("", False),
    ],
)
def test_webhooks_go_at_or_below_what_is_allowed(address: str, *, allowed: bool) -> None:
    assert allows_webhook(ALLOWED, address) is allowed
    assert not allows_webhook((), address)


def test_plain_http_is_for_this_machine() -> None:
    assert refuse_webhook("http://127.0.0.1:9000/x") is None
    assert refuse_webhook("http://hooks.example.org/x") is not None


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("bpf@lists.example.org", True),
        ("BPF@lists.example.org", True),
        ("anybody@team.example.org", True),
        ("anybody@sub.team.example.org", False),
        ("anybody@team.example.org.evil.example", False),
        ("other@lists.example.org", False),
        ("bpf@lists.example.org, victim@evil.example", False),
        ("bpf@lists.example.org\r\nBcc: victim@evil.example", False),
        ("victim@evil.example@team.example.org", False),
        ("<bpf@lists.example.org>", False),
        ('"a b"@team.example.org', False),
        ("@team.example.org", False),
        ("", False),
    ],
)
def test_mails_go_to_addresses_and_domains_that_are_allowed(address: str, *, allowed: bool) -> None:
    assert allows_mail(("bpf@lists.example.org", "@team.example.org"), address) is allowed
    assert not allows_mail((), address)


def test_issues_are_opened_in_repositories_that_are_named() -> None:
    assert allows_repository(("bpf/linux",), "BPF/Linux")
    for name in ("bpf/linux2", "bpf/linux/x", "../linux", "bpf/linux?x", "bpf", ""):
        assert not allows_repository(("bpf/linux",), name)


@pytest.mark.parametrize(
    ("setting", "value", "what"),
    [
        ("news_webhooks", "http://hooks.example.org/", "https"),
        ("news_webhooks", "https://user@hooks.example.org/", "without a user"),
        ("news_mail", "lists.example.org", "neither"),
        ("news_repositories", "bpf", "OWNER/NAME"),
        ("mail_from", "Cliffwatch <a@example.org>", "mail address"),
        ("mail_server", "mail.example.org/x", "CLIFFWATCH_MAIL_SERVER"),
    ],
)
def test_settings_that_name_no_destination_are_refused(setting: str, value: str, what: str) -> None:
    with pytest.raises(Refusal, match=what):
        read_settings(**{setting: value})


@pytest.mark.parametrize(
    ("channel", "address"),
    [
        ("mail", "victim@evil.example"),
        ("mail", "bpf@lists.example.org\r\nBcc: victim@evil.example"),
        ("webhook", "http://127.0.0.1:1/hooks"),
        ("webhook", "https://169.254.169.254/latest"),
        ("issue", "torvalds/linux"),
    ],
)
def test_nobody_subscribes_an_address_that_is_not_allowed(world: Any, channel: str, address: str) -> None:
    for who in ("triage", "admin"):
        answer = world.subscribe(channel, address, who)
        assert answer.status_code == 422
        assert "allows addresses" in answer.json()["detail"]
    assert world.running.rows("SELECT id FROM subscription") == []


def test_who_sends_asks_the_settings_again(tmp_path: Path, mailbox: Any, receiver: Any) -> None:
    """Whatever stands in the database: the settings of now decide."""
    settings = Settings(
        data_dir=tmp_path,
        mail_server=f"127.0.0.1:{mailbox.port}",
        mail_security="none",
        mail_from="cliffwatch@example.org",
    )
    letter = Letter(
        to="victim@evil.example", subject="x", text="x", identity="x", before=(), manage="https://x.example"
    )
    outcome = send_mail(settings, letter, NOW)
    assert isinstance(outcome, NotSent)
    assert outcome.for_good
    outcome = send_webhook(settings, f"{receiver.url}/hooks", "s", None, NOW)  # type: ignore[arg-type] # not looked at
    assert isinstance(outcome, NotSent)
    assert outcome.for_good
    assert (mailbox.tries, receiver.paths) == (0, [])


def test_a_setting_that_is_narrowed_ends_what_was_allowed(world: Any) -> None:
    world.follow()
    assert world.subscribe("mail", "bpf@lists.example.org").status_code == 201
    narrower = world.running.service.settings.model_copy(update={"news_mail": ()})
    object.__setattr__(world.running.service, "settings", narrower)
    world.measure("r0", "r1", 0.1)
    assert world.mailbox.mails == []
    assert world.deliveries() == [("given up", 1)]
    (row,) = world.running.rows("SELECT reason FROM news_delivery")
    assert "do not allow" in row["reason"]
