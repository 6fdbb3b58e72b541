"""The mail report as a reply: a message that mail programs and lists take as it is."""

from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest
from arms import CONTROL, INT_GET, SEQ_GET, arm, exact
from click.testing import CliRunner
from golden import assert_golden

from cliffwatch.command.main import main
from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.reports.context import ReportContext
from cliffwatch.reports.mail.reply import Reply, read_reply, reply_report

RUN = Path(__file__).parents[1] / "data/runs/uninlined"
ID = "20261122103000.12345-1-dev@example.org"
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
REPLY = Reply(to=ID, sender_name="A Developer", sender="dev@example.org")
CONTEXT = ReportContext(setting=("gcc 12.2.0",), notes=("built without network",), failures=(), folder=None)


@pytest.fixture
def compared() -> ComparisonSet:
    base = {SEQ_GET: [185.8], INT_GET: [173.4], CONTROL: [275.7]}
    found = compare(arm("base", base), arm("head", {**base, SEQ_GET: [194.8]}), exact)
    assert isinstance(found, ComparisonSet)
    return found


def read(text: str) -> EmailMessage:
    message = message_from_bytes(text.encode(), policy=policy.default)
    assert isinstance(message, EmailMessage)
    assert not message.defects
    return message


def test_a_reply_names_the_mail_that_it_answers(compared: ComparisonSet) -> None:
    message = read(reply_report(compared, CONTEXT, REPLY, date=NOON))

    assert message["In-Reply-To"] == f"<{ID}>"
    assert message["References"] == f"<{ID}>"
    assert message["From"] == "A Developer <dev@example.org>"
    assert message["Date"].datetime == NOON
    assert message["Message-ID"].endswith("@example.org>")
    assert message["Subject"].startswith(
        "Re: [bpf] head0123456 (bpf: Some head): local-storage-cache-seq-get/nr_maps=16 4.8% regression"
    )
    assert message.get_content_type() == "text/plain"


def test_a_list_can_read_it(compared: ComparisonSet) -> None:
    text = reply_report(compared, CONTEXT, REPLY, date=NOON)
    body = read(text).get_content()

    assert max(map(len, body.splitlines())) <= 72
    assert "base64" not in text
    assert "quoted-printable" not in text
    assert_golden("reply.eml", text)


def test_the_same_results_at_the_same_time_are_the_same_mail(compared: ComparisonSet) -> None:
    first, again = (read(reply_report(compared, CONTEXT, REPLY, date=NOON))["Message-ID"] for _ in range(2))
    other = read(reply_report(compared, CONTEXT, replace(REPLY, to=f"2{ID}"), date=NOON))["Message-ID"]

    assert first == again != other


@pytest.mark.parametrize(
    "text",
    [ID, f"<{ID}>", f" <{ID}> ", f"https://lore.kernel.org/bpf/{ID}/", f"https://lore.kernel.org/r/{ID}"],
)
def test_how_a_mail_is_named(text: str) -> None:
    assert read_reply(text, "A Developer <dev@example.org>") == REPLY


@pytest.mark.parametrize(
    "text", ["", "v2", "a@b\nBcc: x@y", "<a@b> <c@d>", "https://example.org/a@b", "a b@c", "@"]
)
def test_what_names_no_mail_is_usage(text: str) -> None:
    refused = read_reply(text, "dev@example.org")
    assert isinstance(refused, Failure)
    assert "Message-ID" in refused.message


@pytest.mark.parametrize("sender", ["", "nobody", "a@b\nBcc: x@y", "A\nBcc: x@y <a@b>", "a@b, c@d@e"])
def test_who_replies_is_one_address(sender: str) -> None:
    refused = read_reply(ID, sender)

    assert isinstance(refused, Failure) or (refused.sender.count("@") == 1 and "\n" not in repr(refused))
    if isinstance(refused, Failure):
        assert "--mail-from" in refused.next_step


def test_a_long_message_id_stays_whole(compared: ComparisonSet) -> None:
    long = f"{'x' * 180}@{'y' * 60}.example.org"
    text = reply_report(compared, CONTEXT, replace(REPLY, to=long, sender_name="Ä Développer"), date=NOON)

    assert f"In-Reply-To: <{long}>\n" in text
    assert read(text)["From"].addresses[0].display_name == "Ä Développer"


def test_hostile_subjects_make_no_header(compared: ComparisonSet) -> None:
    label = "evil\r\nBcc: everybody@example.org\n\n\x1b[2J\u202e"
    hostile = replace(compared, head=replace(compared.head, label=label, facts={"commit": label}))

    message = read(reply_report(hostile, CONTEXT, REPLY, date=NOON))

    assert "Bcc" not in message
    assert "\x1b" not in message.as_string()


def test_the_command_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "reply.eml"
    argv = ["compare", str(RUN), "--format", "mail", "--in-reply-to", ID, "--mail-from", "dev@example.org"]
    ended = CliRunner().invoke(main, [*argv, "--report-out", str(file)], catch_exceptions=False)

    assert ended.exit_code == 0, ended.output
    assert read(file.read_text())["In-Reply-To"] == f"<{ID}>"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--in-reply-to", ID], "add --format mail"),
        (["--format", "mail", "--in-reply-to", ID], "say who replies"),
        (["--format", "mail", "--mail-from", "a@b.org"], "give one such as"),
    ],
)
def test_half_a_reply_is_usage(more: list[str], words: str) -> None:
    ended = CliRunner().invoke(main, ["compare", str(RUN), *more], catch_exceptions=False)

    assert ended.exit_code == 2
    assert words in ended.output
