"""`cliffwatch subscribe` as operators type it: on the service's own database, with the service's settings."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from load.served import COMMAND
from news_world import WORSE

LIST = "bpf@lists.example.org"
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def subscribe(database: str, tmp_path: Path) -> Command:
    """The command with the settings that the world's service has."""
    allowed = {
        "CLIFFWATCH_NEWS_MAIL": f"{LIST} @team.example.org",
        "CLIFFWATCH_NEWS_WEBHOOKS": "https://hooks.example.org/team",
        "CLIFFWATCH_NEWS_REPOSITORIES": "bpf/linux",
    }
    env = {**os.environ, "DATABASE_URL": database, "HOME": str(tmp_path), "SUDO_USER": "ada", **allowed}

    def run(*arguments: str | bytes) -> "subprocess.CompletedProcess[str]":
        command = [COMMAND, "subscribe", *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    return run


def test_news_go_where_an_operator_subscribed_until_he_ends_it(world: Any, subscribe: Command) -> None:
    world.follow()
    added = subscribe("add", LIST)
    assert (added.returncode, added.stdout) == (0, f"1: mail to {LIST}, all news\n")
    assert "`cliffwatch subscribe remove 1` ends it" in added.stderr
    assert subscribe("add", "ada@team.example.org", "--suite", "no-suite-of-this-report").returncode == 0
    world.measure("r0", "r1", WORSE)
    assert world.mailbox.recipients == [LIST]

    _, first, second = subscribe("list").stdout.splitlines()
    assert first.split() == ["1", LIST, "all", "news", "operator", "ada", "-", "1", "0", "0", "-"]
    assert "suite no-suite-of-this-report" in second
    removed = subscribe("remove", "1")
    assert (removed.returncode, removed.stdout) == (0, f"1 has ended: {LIST} gets no more news.\n")
    world.triage("noise")
    assert world.mailbox.recipients == [LIST]
    assert subscribe("add", LIST).returncode == 0
    audit = world.running.rows(
        "SELECT who, action, object FROM audit WHERE action LIKE '%subscri%' ORDER BY id"
    )
    assert [(row["who"], row["action"]) for row in audit] == [
        ("operator ada", action) for action in ("subscribe", "subscribe", "end subscription", "subscribe")
    ]


def test_a_removed_subscription_says_what_is_not_sent_any_more(world: Any, subscribe: Command) -> None:
    world.follow()
    subscribe("add", LIST)
    world.mailbox.refusal = "451 later"
    world.measure("r0", "r1", WORSE)
    assert (
        subscribe("remove", "1").stdout
        == f"1 has ended: {LIST} gets no more news. 1 delivery that waited will not be sent.\n"
    )
    assert world.deliveries() == [("given up", 1)]


def test_a_subscription_is_muted_for_some_days_for_good_or_for_a_report(
    world: Any, subscribe: Command
) -> None:
    world.follow()
    subscribe("add", LIST)
    subscribe("add", "ada@team.example.org")
    world.measure("r0", "r1", WORSE)
    world.mailbox.recipients.clear()

    muted = subscribe("mute", "1", "--days", "3650")
    assert muted.returncode == 0
    assert "`cliffwatch subscribe mute 1 --days 0` ends that" in muted.stdout
    of_report = subscribe("mute", "2", "--report", world.report())
    assert of_report.stdout == f"2 gets no more news of report {world.report()}\n"
    world.triage("noise")
    assert world.mailbox.recipients == []

    assert subscribe("mute", "1", "--days", "0").stdout == "1 gets news again\n"
    world.triage("new")
    assert world.mailbox.recipients == [LIST]
    assert "is muted for good" in subscribe("mute", "1").stdout
    world.triage("noise")
    assert world.mailbox.recipients == [LIST]


def test_the_channel_follows_from_the_address_and_a_webhook_gets_a_secret(
    world: Any, subscribe: Command
) -> None:
    hook = subscribe(
        "add",
        "https://hooks.example.org/team/bpf",
        "--author",
        "Ada",
        "--subsystem",
        "bpf",
        "--subsystem",
        "mm",
    )
    line, secret = hook.stdout.splitlines()
    assert line == "1: webhook to https://hooks.example.org/team/bpf, author Ada; subsystems bpf, mm"
    assert "shown only this once" in hook.stderr
    issue = subscribe("add", "bpf/linux")
    assert issue.stdout == "2: issue to bpf/linux, all news\n"
    rows = world.running.rows(
        "SELECT channel, secret, authors, subsystems, suites FROM subscription ORDER BY id"
    )
    assert [row["channel"] for row in rows] == ["webhook", "issue"]
    assert (rows[0]["secret"], rows[1]["secret"]) == (secret, None)
    assert (rows[0]["authors"], rows[0]["subsystems"], rows[0]["suites"]) == (["Ada"], ["bpf", "mm"], [])
    assert secret not in subscribe("list").stdout


def test_subscriptions_of_tokens_are_an_operators_to_change_too(world: Any, subscribe: Command) -> None:
    number = str(world.subscribe("mail", LIST, authors=["[Ada] \x1b[31m"]).json()["subscription"])
    listed = subscribe("list").stdout
    assert "[Ada]" in listed
    assert "\x1b" not in listed
    assert subscribe("mute", number, "--days", "7").returncode == 0
    assert subscribe("remove", number).returncode == 0
    nothing = subscribe("list")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "`cliffwatch subscribe add ADDRESS` makes one" in nothing.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("add", "victim@evil.example"), "with CLIFFWATCH_NEWS_MAIL; set it for the service"),
        (("add", "https://169.254.169.254/latest"), "with CLIFFWATCH_NEWS_WEBHOOKS; set it for the service"),
        (("add", "torvalds/linux"), "with CLIFFWATCH_NEWS_REPOSITORIES; set it for the service"),
        (("add", "bpf"), "name a mail address, a webhook as https://…"),
        (("add", f"{LIST}\r\nBcc: victim@evil.example"), "name a mail address, a webhook as https://…"),
        (("add", b"\xff@team.example.org"), "name a mail address, a webhook as https://…"),
        (("add", f"https://hooks.example.org/team/{'a' * 500}"), "500 characters at most"),
        (("add", LIST, "--suite", ""), "write one line of 1 to 200 characters"),
        (("add", LIST, "--author", "a\nb"), "write one line of 1 to 200 characters"),
        (("add", LIST, "--author", b"\xff"), "write one line of 1 to 200 characters"),
        (("add", LIST, *["--subsystem", "bpf"] * 51), "name 50 at most, or leave --subsystem out for all"),
        (("remove", "7"), "`cliffwatch subscribe list` shows all subscriptions with their numbers"),
        (("mute", "7"), "`cliffwatch subscribe list` shows all subscriptions with their numbers"),
        (("mute", "7", "--report", "0" * 32), "`cliffwatch subscribe list` shows all subscriptions"),
        (("mute", "7", "--report", "abc"), "copy it from the URL of the report's page"),
        (("mute", "7", "--report", "0" * 32, "--days", "7"), "give --report or --days, not both"),
        (("mute", "7", "--days", "-1"), "--days"),
        (("remove", "0"), "NUMBER"),
    ],
)
def test_what_cannot_be_done_is_usage_and_says_what_can(
    subscribe: Command, arguments: tuple[str | bytes, ...], says: str
) -> None:
    refused = subscribe(*arguments)
    said = " ".join(refused.stderr.replace("│", " ").split())
    assert refused.returncode == 2, said
    assert says in said
    assert "Traceback" not in said


def test_an_address_that_has_a_subscription_and_a_report_that_is_none_are_usage(subscribe: Command) -> None:
    assert subscribe("add", LIST).returncode == 0
    twice = subscribe("add", LIST.upper())
    assert twice.returncode == 2
    assert "has a subscription" in twice.stderr
    assert "`cliffwatch subscribe list` shows" in twice.stderr
    unknown = subscribe("mute", "1", "--report", "0" * 32)
    assert unknown.returncode == 2
    assert "copy it from the URL of the report's page" in unknown.stderr
