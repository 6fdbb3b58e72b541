"""`cliffwatch run --series`: a patch series from a mailbox, as b4 and lore give it, on its base."""

import gzip
import lzma
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from isolation_here import ISOLATION, leave_out_root
from toy import change, git

from cliffwatch.command.main import main
from cliffwatch.failure import Failure
from cliffwatch_runner.source.series.mailbox import Series, read_series

pytestmark = pytest.mark.usefixtures("stand_in")

FROM = "From git@z Thu Jan  1 00:00:00 1970\n"
AUTO_TOO = "auto,local-storage"
"""No suite executes what the patches change; what they change is read all the same."""

SLOW = "--- a/behaviour\n+++ b/behaviour\n@@ -1 +1 @@\n-good\n+slow\n"
NOTE = "diff --git a/note b/note\nnew file mode 100644\n--- /dev/null\n+++ b/note\n@@ -0,0 +1 @@\n+one\n"


def mail(subject: str, body: str, identity: str, *headers: str) -> str:
    lines = [
        f"Subject: {subject}",
        "From: A Developer <dev@example.org>",
        f"Message-ID: <{identity}@example.org>",
        'Content-Type: text/plain; charset="utf-8"',
        *headers,
    ]
    return FROM + "\n".join(lines) + f"\n\n{body}\n-- \n2.43.0\n\n"


def two_patches(version: str = "", *, base: str | None = None, slow: str = SLOW) -> str:
    about = f"base-commit: {base}\n" if base else ""
    return (
        mail(f"[PATCH bpf-next{version} 0/2] Slower storage", f"A cover letter.\n\n{about}", f"0{version}")
        + mail(
            f"[PATCH bpf-next{version} 2/2] bpf: Make it slow",
            f"Why.\n---\n behaviour | 2 +-\n\n{slow}",
            f"2{version}",
        )
        + mail(
            f"[PATCH bpf-next{version} 1/2] bpf: Take a note",
            f"Why.\n---\n note | 1 +\n\n{NOTE}",
            f"1{version}",
        )
    )


def mailbox(folder: Path, text: str, name: str = "series.mbox") -> Path:
    (folder / name).write_text(text)
    return folder / name


def series_of(folder: Path, text: str) -> Series:
    series = read_series(mailbox(folder, text))
    assert isinstance(series, Series), series
    return series


def refusal(folder: Path, text: str) -> Failure:
    failure = read_series(mailbox(folder, text))
    assert isinstance(failure, Failure), failure
    assert failure.whose == "usage"
    return failure


def run(repository: Path, file: Path, *more: object) -> Result:
    leave_out_root()
    folders = ["--cache", repository.parent / "cache", "--out", repository.parent / "results"]
    words = ["run", "--tree", repository, "--series", file, "--mode", "icount", "--boots", 1, *folders]
    words += ["--suite", "local-storage", "--isolation", ISOLATION, *more]
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


def test_a_series_is_measured_on_its_base_commit(repository: Path, tmp_path: Path) -> None:
    base = git(repository, "rev-parse", "HEAD")
    change(repository, "behaviour", "panic\n", "Something that came later")

    ended = run(repository, mailbox(tmp_path, two_patches(base=base)))

    assert ended.exit_code == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert f"Base is {base[:12]}, the base-commit of the series" in lines
    assert lines[0] == "5 slower (up to 25.0 % more instructions), 2 unchanged"
    assert "(bpf: Make it slow)" in ended.stdout
    assert "head is v1 of the series in series.mbox, 2 patches" in ended.stdout


def test_a_series_without_a_base_is_measured_on_the_one_that_is_said(
    repository: Path, tmp_path: Path
) -> None:
    file = mailbox(tmp_path, two_patches())
    refused = run(repository, file, "--dry-run")
    assert refused.exit_code == 2
    assert "names no base" in refused.stderr
    assert "--base" in refused.stderr

    planned = run(repository, file, "--base", "v6.12", "--dry-run")
    assert planned.exit_code == 0, planned.stderr
    assert "(bpf: Make it slow)" in planned.stdout


def test_what_is_said_wins_over_the_base_commit(repository: Path, tmp_path: Path) -> None:
    ended = run(repository, mailbox(tmp_path, two_patches(base="1" * 40)), "--base", "v6.12", "--dry-run")

    assert ended.exit_code == 0, ended.stderr


def test_a_base_commit_that_the_tree_does_not_have_is_usage(repository: Path, tmp_path: Path) -> None:
    ended = run(repository, mailbox(tmp_path, two_patches(base="1" * 40)), "--dry-run")

    assert ended.exit_code == 2
    assert f"has no revision '{'1' * 40}'" in ended.stderr


@pytest.mark.parametrize("bases", [(), ("base-commit",)])
@pytest.mark.parametrize("as_arms", [False, True])
def test_of_a_base_that_does_not_exist_that_alone_is_said(
    bases: tuple[str, ...], as_arms: bool, repository: Path, tmp_path: Path
) -> None:
    file = mailbox(tmp_path, two_patches(base="1" * 40 if bases else None))
    sides = (
        ["--arm", "base=nosuch", "--arm", f"head=series={file}"]
        if as_arms
        else ["--base", "nosuch", "--series", file]
    )
    words = [
        "run",
        "--tree",
        repository,
        *sides,
        "--suite",
        "local-storage",
        "--mode",
        "icount",
        "--cache",
        tmp_path / "cache",
        "--dry-run",
    ]

    ended = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)

    assert ended.exit_code == 2
    assert [line for line in ended.stderr.splitlines() if line.startswith("cliffwatch:")] == [
        f"cliffwatch: {repository} has no revision 'nosuch'"
    ]


def test_a_mailbox_without_patches_is_said_beside_a_base_that_does_not_exist(
    repository: Path, tmp_path: Path
) -> None:
    ended = run(repository, mailbox(tmp_path, "Nothing."), "--base", "nosuch", "--dry-run")

    assert "has no revision 'nosuch'" in ended.stderr
    assert "holds no patch" in ended.stderr


def test_a_patch_that_does_not_apply_is_named_with_its_place(repository: Path, tmp_path: Path) -> None:
    ended = run(
        repository,
        mailbox(tmp_path, two_patches(slow=SLOW.replace("-good", "-bad"))),
        "--base",
        "v6.12",
        "--dry-run",
    )

    assert ended.exit_code == 2
    assert "patch 2 of 2 (bpf: Make it slow) does not apply to" in ended.stderr
    assert "behaviour" in ended.stderr


@pytest.mark.parametrize("more", [("--head", "HEAD"), ("--patch", "series.mbox")])
def test_a_series_is_the_head_itself(repository: Path, tmp_path: Path, more: tuple[str, str]) -> None:
    file = mailbox(tmp_path, two_patches())
    words = [str(tmp_path / word) if word.endswith("mbox") else word for word in more]
    ended = run(repository, file, "--base", "HEAD", *words, "--dry-run")

    assert ended.exit_code == 2
    assert "--series makes the head itself" in ended.stderr


def test_without_a_series_two_revisions_are_needed(repository: Path) -> None:
    ended = CliRunner().invoke(main, ["run", "--tree", str(repository), "--base", "HEAD", "--dry-run"])

    assert ended.exit_code == 2
    assert "--head missing" in ended.stderr


def test_patches_come_in_order_and_replies_are_passed_over(tmp_path: Path) -> None:
    replies = mail(
        "Re: [PATCH bpf-next 1/2] bpf: Take a note", f"> {NOTE}\nReviewed-by: B <b@example.org>", "r1"
    )
    replies += mail("RE: [PATCH bpf-next 2/2] bpf: Make it slow", SLOW, "r2", "In-Reply-To: <2@example.org>")

    series = series_of(tmp_path, two_patches() + replies)

    assert [patch.title for patch in series.patches] == ["bpf: Take a note", "bpf: Make it slow"]


def test_of_two_versions_the_newest_is_taken_and_that_is_said(tmp_path: Path) -> None:
    series = series_of(tmp_path, two_patches(" v2", slow=SLOW.replace("slow", "panic")) + two_patches())

    assert "+panic" in series.patches[1].text
    assert series.notes == (
        "head is v2 of the series in series.mbox, 2 patches",
        "the mailbox holds v1 too; the newest version is measured",
    )


def test_the_same_mail_by_two_lists_is_one(tmp_path: Path) -> None:
    assert len(series_of(tmp_path, two_patches() + two_patches()).patches) == 2


def test_a_mailbox_as_lore_packs_it(tmp_path: Path) -> None:
    file = tmp_path / "t.mbox.gz"
    text = two_patches(base="2" * 40).replace(FROM, "From mboxrd@z Thu Jan  1 00:00:00 1970\n")
    file.write_bytes(gzip.compress(text.replace("Why.", ">From the beginning.").encode()))

    series = read_series(file)

    assert isinstance(series, Series)
    assert series.base == "2" * 40
    assert series.patches[0].text.startswith("From the beginning.")


def test_one_patch_alone_and_encoded(tmp_path: Path) -> None:
    encoded = SLOW.replace("slow", "sl=C3=B6w").replace("\n", "\r\n")
    text = (
        "Subject: =?utf-8?q?=5BPATCH=5D_bpf=3A_Sl=C3=B6w?=\nContent-Type: text/plain;"
        " charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n"
    )

    series = series_of(tmp_path, f"{text}\n{encoded}")

    assert [patch.title for patch in series.patches] == ["bpf: Slöw"]
    assert "+slöw\n" in series.patches[0].text


def test_what_is_no_series_is_said(tmp_path: Path) -> None:
    cover = mail("[PATCH 0/2] A cover", "Nothing else.", "c")
    first = mail("[PATCH 1/2] One", NOTE, "1")
    other = mail("[PATCH 1/2] Another", NOTE, "9")

    assert "a cover letter and none of its patches" in refusal(tmp_path, cover).message
    assert "b4 mbox" in refusal(tmp_path, cover).next_step
    assert "lacks patches of v1: 2" in refusal(tmp_path, cover + first).message
    assert "two patches 1" in refusal(tmp_path, first + other).message
    assert "different lengths" in refusal(tmp_path, first + mail("[PATCH 2/3] X", NOTE, "3")).message
    assert "holds no patch" in refusal(tmp_path, mail("Re: [PATCH] x", SLOW, "r")).message
    assert "holds no patch" in refusal(tmp_path, "").message
    assert "holds no patch" in refusal(tmp_path, "\x00\xff" * 1000).message
    bases = two_patches(base="1" * 40) + FROM
    assert (
        "several bases"
        in refusal(tmp_path, bases.replace(SLOW, SLOW + f"\nbase-commit: {'2' * 40}\n")).message
    )


def test_hostile_mails_change_nothing_but_their_own_text(repository: Path, tmp_path: Path) -> None:
    """A patch cannot leave the tree, a subject is no option, and a header that is none does not end the
    reading.
    """
    out = (
        "diff --git a/x b/../../../evil\nnew file mode 100644\n--- /dev/null\n+++ b/../../../evil\n@@ -0,0 +1"
        " @@\n+evil\n"
    )
    ended = run(repository, mailbox(tmp_path, mail("[PATCH] x", out, "1")), "--base", "v6.12", "--dry-run")
    assert ended.exit_code == 2
    assert "does not apply" in ended.stderr

    odd = mail(
        "[PATCH] --upload-pack=\x1b[2J",
        NOTE,
        "1",
        "Content-Type: text/plain; charset=no-such",
        "From: @@@\x00",
    )
    assert len(series_of(tmp_path, odd + FROM + "Subject: =?x?y?z?=\n\n").patches) <= 1
    ended = run(
        repository,
        mailbox(tmp_path, mail("[PATCH] --help \x00\x1b[2J", NOTE, "1")),
        "--base",
        "v6.12",
        "--dry-run",
    )
    assert ended.exit_code == 0, ended.stderr
    assert "\x1b" not in ended.stdout


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cliffwatch.parsers.received.unpacking.LARGEST_BYTES", 1000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"\0" * 100_000))

    failure = read_series(tmp_path / "bomb.gz")

    assert isinstance(failure, Failure)
    assert "unpacks to more than" in failure.message


@contextmanager
def piped(content: bytes) -> Iterator[str]:
    """The name of a pipe that gives this once, as the shell's <(…) makes it."""
    reading, writing = os.pipe()
    thread = threading.Thread(target=write_all, args=(writing, content))
    thread.start()
    yield f"/dev/fd/{reading}"
    os.close(reading)
    thread.join()


def write_all(descriptor: int, content: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb") as file:
        file.write(content)


def planned(stdout: str) -> tuple[str, str]:
    """The commits of base and head that a plan's output lists."""
    commits = {words[0]: words[1] for line in stdout.splitlines() if len(words := line.split()) > 1}
    return commits["base"], commits["head"]


@pytest.mark.parametrize("packed", [bytes, gzip.compress, lzma.compress], ids=["plain", "gz", "xz"])
def test_a_series_from_a_pipe_is_read_once(repository: Path, packed: Callable[[bytes], bytes]) -> None:
    base = git(repository, "rev-parse", "v6.12")
    with piped(packed(two_patches(base=base).encode())) as name:
        ended = run(repository, Path(name), "--suite", AUTO_TOO, "--dry-run")

    assert ended.exit_code == 0, ended.stderr
    planned_base, planned_head = planned(ended.stdout)
    assert base.startswith(planned_base)
    assert planned_head != planned_base


def test_a_patch_from_standard_input_is_read_once(repository: Path) -> None:
    words = ["run", "--tree", repository, "--base", "v6.12", "--head", "v6.12", "--patch", "-", "--dry-run"]
    words += [
        "--suite",
        AUTO_TOO,
        "--mode",
        "icount",
        "--cache",
        repository.parent / "cache",
        "--isolation",
        ISOLATION,
    ]
    plan = CliRunner().invoke(main, [str(word) for word in words], input=SLOW, catch_exceptions=False)

    assert plan.exit_code == 0, plan.stderr
    base, head = planned(plan.stdout)
    assert base != head


def test_an_arm_takes_a_series_from_a_pipe(repository: Path) -> None:
    with piped(gzip.compress(two_patches().encode())) as name:
        words = [
            "run",
            "--tree",
            repository,
            "--arm",
            "base=v6.12",
            "--arm",
            f"head=series={name}",
            "--dry-run",
        ]
        words += ["--suite", AUTO_TOO, "--mode", "icount"]
        words += ["--cache", repository.parent / "cache", "--isolation", ISOLATION]
        plan = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)

    assert plan.exit_code == 0, plan.stderr
    base, head = planned(plan.stdout)
    assert base != head
