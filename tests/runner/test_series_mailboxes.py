"""Mailboxes as lists, bots and mail programs leave them: what of them is the series, and what is said of the
rest.
"""

import base64
import quopri
from collections.abc import Sequence
from email.message import EmailMessage
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from pathlib import Path

import pytest
from toy import git

from cliffwatch.failure import Failure
from cliffwatch_runner.source.series.applying import apply_series
from cliffwatch_runner.source.series.mailbox import Series, read_series
from cliffwatch_runner.source.tree import Tree, open_tree

KEPT = Path(__file__).parents[1] / "data/inputs/series-odd-mailboxes"
AUTHOR = "A Developer <dev@example.org>"
BOT = "kernel test robot <robot@example.org>"


def diff(file: str, line: str = "one") -> str:
    return (
        f"diff --git a/{file} b/{file}\nnew file mode 100644\n--- /dev/null\n+++ b/{file}\n@@ -0,0 +1"
        f" @@\n+{line}\n-- \n2.43.0\n"
    )


def mail(subject: str, body: str, identity: str, *, sender: str = AUTHOR, **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["Message-ID"] = subject, sender, f"<{identity}@example.org>"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return message


def patch(
    subject: str, file: str, *, sender: str = AUTHOR, identity: str = "", **headers: str
) -> EmailMessage:
    body = f"Why.\n---\n {file} | 1 +\n\n{diff(file)}"
    return mail(subject, body, identity or f"{file}-{abs(hash(subject))}", sender=sender, **headers)


def mailbox(folder: Path, messages: Sequence[EmailMessage | MIMEMultipart | bytes]) -> Path:
    file = folder / "series.mbox"
    raws = [each if isinstance(each, bytes) else each.as_bytes() for each in messages]
    file.write_bytes(b"".join(b"From git@z Thu Jan  1 00:00:00 1970\n" + raw + b"\n\n" for raw in raws))
    return file


def series_of(folder: Path, *messages: EmailMessage | MIMEMultipart | bytes) -> Series:
    series = read_series(mailbox(folder, messages))
    assert isinstance(series, Series), series
    return series


def refusal(folder: Path, *messages: EmailMessage | MIMEMultipart | bytes) -> Failure:
    failure = read_series(mailbox(folder, messages))
    assert isinstance(failure, Failure), failure
    assert failure.whose == "usage"
    return failure


def titles(series: Series) -> list[str]:
    return [each.title for each in series.patches]


@pytest.mark.parametrize(
    ("name", "patches"), [("tip_v1", 3), ("tip_single", 1), ("stable", 3), ("stable1", 1)]
)
def test_branches_with_slashes_and_notices_of_bots(name: str, patches: int) -> None:
    series = read_series(KEPT / f"{name}.mbox")

    assert isinstance(series, Series), series
    assert len(series.patches) == patches
    assert series.notes == (
        f"head is v1 of the series in {name}.mbox, {patches} patch{'es' if patches > 1 else ''}",
    )


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("RFC PATCH bpf-next v3 {}/2", 3),
        ("PATCH v2 bpf-next 0{}/02", 2),
        ("PATCHv4 bpf {}/2", 4),
        ("bpf-next,v3,0{}/02", 3),
        ("PATCH RESEND bpf-next v2 {}/2", 2),
        ("RESEND PATCH bpf-next {}/2", 1),
        ("PATCH riscv64 {}/2", 1),
        ("PATCH 6.6/6.12 v2 {}/2", 2),
        ("PATCH v6.6 {}/2", 1),
        ("PATCH v5.15-v6.1 {}/2", 1),
        ("PATCH {}/2 v7", 7),
        ("EXTERNAL] [PATCH bpf v2 {}/2", 2),
        ("patch 00{}/002", 1),
        ("RFC 4.19/5.4 {}/2", 1),
    ],
)
def test_place_and_version_are_whole_words(words: str, version: int, tmp_path: Path) -> None:
    series = series_of(
        tmp_path, patch(f"[{words.format(2)}] bpf: two", "b"), patch(f"[{words.format(1)}] bpf: one", "a")
    )

    assert titles(series) == ["bpf: one", "bpf: two"]
    assert f"v{version} of the series" in series.notes[0]


SERIES = (patch("[PATCH bpf-next 1/2] bpf: one", "a"), patch("[PATCH bpf-next 2/2] bpf: two", "b"))
ONE = patch("[PATCH bpf-next] bpf: one", "a", identity="one")


@pytest.mark.parametrize(
    "notice",
    [
        patch("[tip: perf/core] bpf: one", "a", sender="tip-bot2 <tip@example.org>"),
        patch('Patch "bpf: one" has been added to the 6.6-stable tree', "a"),
        patch('FAILED: patch "[PATCH] bpf: one" failed to apply to 6.6-stable tree', "x"),
        patch("+ bpf-one.patch added to mm-unstable branch", "a"),
        patch("[merged mm-stable] bpf-one.patch removed from -mm tree", "a"),
        patch("[linux-next:master 12/34] kernel/bpf/x.c:5 warning", "x", sender=BOT),
        patch("回复: [PATCH bpf-next 1/2] bpf: one", "x"),
        patch("[External] Re: [PATCH bpf-next 1/2] bpf: one", "x"),
        mail("Re: [PATCH bpf-next 1/2] bpf: one", "> diff --git a/a b/a\n> +one\n", "quoting"),
        patch(
            "[PATCH] bpf: fix semicolon.cocci warnings", "fix", sender=BOT, In_Reply_To="<one@example.org>"
        ),
    ],
    ids=lambda each: each["Subject"],
)
def test_what_bots_and_readers_write_into_the_thread_is_no_patch(
    notice: EmailMessage, tmp_path: Path
) -> None:
    assert titles(series_of(tmp_path, *SERIES, notice)) == ["bpf: one", "bpf: two"]
    assert titles(series_of(tmp_path, notice, ONE)) == ["bpf: one"]


def test_a_notice_alone_is_no_series(tmp_path: Path) -> None:
    notices = [
        patch('Patch "bpf: one" has been added to the 6.6-stable tree', "a"),
        patch("[tip: x86/core] one", "a"),
    ]
    for notice in notices:
        assert "notices of what became of a patch" in refusal(tmp_path, notice).message
    hint = patch("[PATCH 6.6 001/139] bpf: one", "a", X_Patchwork_Hint="ignore")
    assert "b4 mbox" in refusal(tmp_path, hint).next_step


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    fix = patch("[PATCH] bpf: fix warnings", "fix", sender=BOT)

    assert series_of(tmp_path, *SERIES, fix).notes[1:] == (
        "mails with a diff that are no patch of the series are left out: [PATCH] bpf: fix warnings",
    )


def test_patches_without_places_of_one_sender_are_a_series(tmp_path: Path) -> None:
    """`git format-patch --no-numbered --thread`: each answers the first."""
    second = patch("[PATCH bpf-next] bpf: two", "b", In_Reply_To="<one@example.org>")

    assert titles(series_of(tmp_path, ONE, second)) == ["bpf: one", "bpf: two"]


def test_a_mailbox_of_patchwork_may_have_no_brackets(tmp_path: Path) -> None:
    own = patch("bpf: one", "a", X_Patchwork_Id="123")
    notice = patch("[tip: perf/core] bpf: one", "a")

    assert titles(series_of(tmp_path, own, notice)) == ["bpf: one"]


def test_what_was_sent_again_stands_for_what_was_sent_before(tmp_path: Path) -> None:
    again = patch("[PATCH RESEND bpf-next 1/2] bpf: one", "again")
    assert "b/again" in series_of(tmp_path, *SERIES, again).patches[0].text
    alone = patch("[RESEND PATCH bpf-next] bpf: one", "again")
    assert [("b/again" in each.text) for each in series_of(tmp_path, ONE, alone).patches] == [True]


def test_the_same_patch_by_two_lists_with_identities_of_their_own_is_one(tmp_path: Path) -> None:
    again = patch("[PATCH bpf-next 1/2] bpf: one", "a", identity="another")
    assert titles(series_of(tmp_path, *SERIES, again)) == ["bpf: one", "bpf: two"]
    other = mail("[PATCH bpf-next 1/2] bpf: one", diff("a", "other"), "third")
    assert "two patches 1 of v1" in refusal(tmp_path, *SERIES, other).message


def attached(
    subject: str, *files: tuple[str, str], text: str = "Attached.\n", kind: str = "text/x-patch"
) -> EmailMessage:
    message = mail(subject, text, f"attached-{abs(hash(subject))}")
    for name, content in files:
        main, _, sub = kind.partition("/")
        message.add_attachment(content.encode(), maintype=main, subtype=sub, filename=name)
    return message


def formatted(number: int, title: str, file: str) -> tuple[str, str]:
    head = (
        f"From {'1' * 40} Mon Sep 17 00:00:00 2001\nFrom: {AUTHOR}\nSubject: [PATCH {number}/2]"
        f" {title}\n\nWhy.\n---\n"
    )
    return f"000{number}-{file}.patch", head + diff(file)


@pytest.mark.parametrize(
    "kind", ["text/x-patch", "text/plain", "application/octet-stream", "application/x-patch"]
)
@pytest.mark.parametrize("subject", ["[PATCH 0/2] A cover", "[PATCH] Two patches", "Two patches"])
def test_several_patches_attached_to_one_mail_are_all_taken(subject: str, kind: str, tmp_path: Path) -> None:
    both = formatted(2, "bpf: two", "b"), formatted(1, "bpf: one", "a")

    series = series_of(tmp_path, attached(subject, *both, kind=kind))

    assert titles(series) == ["bpf: one", "bpf: two"]
    assert ["b/a" in series.patches[0].text, "b/b" in series.patches[1].text] == [True, True]


def test_patches_of_one_mail_that_contradict_are_all_refused(tmp_path: Path) -> None:
    files = formatted(1, "bpf: one", "a"), formatted(2, "bpf: two", "b")

    for odd in (attached("[PATCH] x", files[0], text=diff("c")), attached("[PATCH 1/2] x", *files)):
        refused = (
            refusal(tmp_path, odd, patch("[PATCH 2/2] y", "y"))
            if "1/2" in odd["Subject"]
            else refusal(tmp_path, odd)
        )
        assert "has 2 diffs and does not say which" in refused.message
    same = attached("[PATCH] x", ("x.patch", diff("c")), text=diff("c"))
    assert titles(series_of(tmp_path, same)) == ["x"]


def test_mails_that_are_forwarded_as_attachments_are_the_series(tmp_path: Path) -> None:
    digest = MIMEMultipart("digest")
    digest["Subject"], digest["From"] = "The series", "Somebody <s@example.org>"
    for each in SERIES:
        digest.attach(MIMEMessage(each))

    assert titles(series_of(tmp_path, digest)) == ["bpf: one", "bpf: two"]


def encoded(body: bytes, encoding: str, kind: str = "text/plain; charset=utf-8") -> bytes:
    head = (
        f"Subject: [PATCH] bpf: one\nFrom: {AUTHOR}\nContent-Type: {kind}\nContent-Transfer-Encoding:"
        f" {encoding}\n\n"
    )
    return head.encode() + body


LINE = "grüße € = " + "long " * 20 + "end"


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("encoding", ["8bit", "base64", "quoted-printable"])
def test_encoded_patches_apply(encoding: str, ends: bytes, tmp_path: Path, tree: Tree) -> None:
    body = diff("a", LINE).encode().replace(b"\n", ends)
    body = {"8bit": bytes, "base64": base64.encodebytes, "quoted-printable": quopri.encodestring}[encoding](
        body
    )

    assert applied(tree, series_of(tmp_path, encoded(body, encoding)), "a") == f"{LINE}\n"


def test_bytes_that_are_no_text_of_their_charset_stay_as_they_are(tmp_path: Path, tree: Tree) -> None:
    body = diff("a", "LINE").encode().replace(b"LINE", b"Latin-1 \xfc")

    series = series_of(tmp_path, encoded(body, "8bit"))
    base = tree.resolve("v6.12")
    assert not isinstance(base, Failure)
    made = apply_series(tree.mirror, base, series)
    assert not isinstance(made, Failure), made
    (tmp_path / "expected").write_bytes(b"Latin-1 \xfc\n")
    name = git(tree.mirror, "hash-object", "--no-filters", str(tmp_path / "expected"))
    assert git(tree.mirror, "rev-parse", f"{made.commit}:a") == name


FLOWED = (
    "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n"
    "+a line that is so long that the program which wrote the mail has broken it \nhere{}\n+ indented\n"
)


@pytest.mark.parametrize(("delsp", "broken"), [("", "broken it here"), ("; delsp=yes", "broken ithere")])
def test_flowed_mails_are_put_together(delsp: str, broken: str, tmp_path: Path, tree: Tree) -> None:
    series = series_of(
        tmp_path,
        encoded(FLOWED.format("").encode(), "8bit", f"text/plain; charset=utf-8; format=flowed{delsp}"),
    )

    assert applied(tree, series, "a").splitlines()[0].endswith(broken)


def test_context_lines_of_flowed_mails_lose_the_space_that_was_put_before_them(
    tmp_path: Path, tree: Tree
) -> None:
    text = b"--- a/behaviour\n+++ b/behaviour\n@@ -1 +1,2 @@\n  good\n+slow\n"

    series = series_of(tmp_path, encoded(text, "7bit", "text/plain; format=flowed"))

    assert applied(tree, series, "behaviour") == "good\nslow\n"


def test_a_patch_whose_lines_a_mail_program_broke_is_called_damaged(tmp_path: Path, tree: Tree) -> None:
    series = series_of(tmp_path, encoded(FLOWED.format(" again").encode(), "8bit"))
    base = tree.resolve("v6.12")
    assert not isinstance(base, Failure)

    refused = apply_series(tree.mirror, base, series)

    assert isinstance(refused, Failure)
    assert "patch 1 of 1 (bpf: one) is damaged" in refused.message
    assert "b4 am" in refused.next_step


@pytest.mark.parametrize("count", [250, 3000])
@pytest.mark.parametrize(
    "container",
    [b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", b"Content-Type: message/rfc822\nX: %d%d\n\n"],
)
def test_a_mail_that_is_nested_without_end_is_passed_over(
    container: bytes, count: int, tmp_path: Path
) -> None:
    nested = b"Subject: [PATCH 1/2] deep\n" + b"".join(container % (each, each) for each in range(count))

    assert titles(series_of(tmp_path, nested, *SERIES)) == ["bpf: one", "bpf: two"]


@pytest.fixture
def tree(repository: Path, tmp_path: Path) -> Tree:
    tree = open_tree(str(repository), tmp_path / "cache", "own")
    assert isinstance(tree, Tree), tree
    return tree


def applied(tree: Tree, series: Series, file: str) -> str:
    """What a file holds after the series."""
    base = tree.resolve("v6.12")
    assert not isinstance(base, Failure)
    made = apply_series(tree.mirror, base, series)
    assert not isinstance(made, Failure), (made, series.patches)
    return git(tree.mirror, "show", f"{made.commit}:{file}") + "\n"
