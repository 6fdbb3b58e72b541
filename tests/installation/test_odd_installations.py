"""What an installation is given, and what lies in the place of its files, is anybody's: nothing odd reaches a
unit, no link is followed.
"""

import os
from pathlib import Path

import pytest
from folder_hosts import Command, files_of

from cliffwatch_runner.worker.installation.files import PATHS, TOKEN, WORKER_UNIT, command_words, unit_word


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("url", "ftp://bench.example.org"),
        ("url", "bench.example.org"),
        ("url", "https://"),
        ("url", "https://bench.example.org/\nExecStartPre=/bin/sh"),
        ("url", "https://bench.example.org/ --insecure"),
        ("url", "https://bench.example.org:99999"),
        ("url", "https://me:secret@bench.example.org"),
        ("url", "https://bench.example.org/?a=b"),
        ("url", "https://b\u00e9nch.example.org"),
        ("platform", "amd rome"),
        ("platform", "AMD-Rome"),
        ("platform", "amd-rome\n[Service]"),
        ("name", "rome 1"),
        ("name", "-rome"),
        ("name", "rome\nUser=root"),
        ("name", "%H"),
        ("name", "a" * 200),
        ("program", "cliffwatch"),
        ("program", "/opt/cliff watch/bin/cliffwatch"),
        ("program", "/opt/%h/cliffwatch"),
        ("program", "/opt/$(id)/cliffwatch"),
        ("program", "/opt/a\nUser=root"),
        ("program", "/opt/../home/me/cliffwatch"),
        ("program", "/home/me/cliffwatch/.venv/bin/cliffwatch"),
        ("program", "/root/.venv/bin/cliffwatch"),
    ],
)
def test_what_no_unit_should_hold_is_refused(install: Command, root: Path, option: str, value: str) -> None:
    ended = install(**{option: value})

    assert ended.exit_code == 2, ended.output
    assert f"--{option}" in ended.output or "home directory" in ended.output
    assert list(root.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("two words\n", "does not contain a token"),
        ("cw_first\ncw_second\n", "does not contain a token"),
        ("short", "does not contain a token"),
        ("cw_\x07bell-rings\n", "does not contain a token"),
    ],
)
def test_what_is_no_token_is_refused(
    install: Command, root: Path, token: Path, text: str, reason: str
) -> None:
    token.write_text(text)

    ended = install()

    assert ended.exit_code == 2
    assert reason in ended.output
    assert text.strip() not in ended.output or not text
    assert list(root.iterdir()) == []


def test_a_token_that_others_can_read_is_refused(install: Command, token: Path) -> None:
    token.chmod(0o640)

    ended = install()

    assert ended.exit_code == 2
    assert f"chmod 600 {token}" in ended.output


def test_a_token_file_that_is_not_there_is_refused(install: Command, token: Path) -> None:
    token.unlink()

    assert install().exit_code == 2


def test_everything_that_is_wrong_is_said_at_once(install: Command) -> None:
    ended = install(url="ftp://x", name="a b")

    assert "--url" in ended.output
    assert "--name" in ended.output


def test_percent_signs_dollars_and_quotes_mean_nothing_in_a_unit(install: Command, root: Path) -> None:
    assert install(url="https://bench.example.org/a%20b/$HOME/'c'").exit_code == 0

    line = next(
        line for line in (root / WORKER_UNIT.relative_to("/")).read_text().splitlines() if "--url" in line
    )
    assert """--url "https://bench.example.org/a%%20b/$$HOME/'c'" --name""" in line


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("plain-1.2/3", "plain-1.2/3"),
        ("", '""'),
        ("two words", '"two words"'),
        ('say "so"', '"say \\"so\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("100%", '"100%%"'),
        ("a;b", '"a;b"'),
        (";", '";"'),
    ],
)
def test_a_word_of_a_unit_is_one_word(word: str, written: str) -> None:
    assert unit_word(word) == written


def test_a_word_with_a_line_in_it_is_a_bug() -> None:
    with pytest.raises(ValueError, match="cannot be written into a unit"):
        command_words(["a\nb"])


def in_place(root: Path, path: Path) -> Path:
    target = root / path.relative_to("/")
    for folder in reversed(target.parents):
        if not folder.exists():
            folder.mkdir(mode=0o755)
    return target


@pytest.mark.parametrize("path", list(PATHS), ids=lambda path: path.name)
def test_a_link_in_a_files_place_is_neither_followed_nor_replaced(
    install: Command, root: Path, path: Path
) -> None:
    precious = root.parent / "precious"
    precious.write_text("mine\n")
    in_place(root, path).symlink_to(precious)

    ended = install()

    assert ended.exit_code == 4
    assert f"{path} cannot be read or replaced: it is a link" in ended.output
    assert precious.read_text() == "mine\n"
    assert list(files_of(root)) == [str(path)], "nothing else is written either"


@pytest.mark.parametrize("kind", ["pipe", "folder", "second name"])
def test_what_is_no_plain_file_is_left(install: Command, root: Path, kind: str) -> None:
    target = in_place(root, WORKER_UNIT)
    if kind == "pipe":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    else:
        (root.parent / "precious").write_text("# Written by `cliffwatch host install`, or so it says\n")
        os.link(root.parent / "precious", target)

    ended = install()

    assert ended.exit_code == 4
    assert str(WORKER_UNIT) in ended.output
    assert not (root / TOKEN.relative_to("/")).exists()


@pytest.mark.parametrize("folder", ["etc/systemd", "var/lib/cliffwatch", "usr"])
def test_a_link_on_the_way_is_not_followed(
    install: Command, remove: Command, root: Path, folder: str
) -> None:
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir()
    place = in_place(root, Path("/", folder))
    place.symlink_to(elsewhere)

    ended = install()

    assert ended.exit_code == 4
    assert "is a link or not a folder" in ended.output
    assert list(elsewhere.iterdir()) == []
    assert remove("--purge").exit_code == 0
    assert elsewhere.is_dir()


def test_a_folder_that_all_may_write_to_holds_no_token(install: Command, root: Path) -> None:
    folder = in_place(root, TOKEN).parent
    folder.chmod(0o777)

    ended = install()

    assert ended.exit_code == 4
    assert "others can change" in ended.output
    assert files_of(root) == {}


def test_a_unit_that_somebody_wrote_by_hand_is_his(install: Command, remove: Command, root: Path) -> None:
    unit = in_place(root, WORKER_UNIT)
    unit.write_text("[Service]\nExecStart=/bin/true\n")

    ended = install()

    assert ended.exit_code == 4
    assert f"{WORKER_UNIT} exists, but `cliffwatch host install` did not write it" in ended.output
    assert list(files_of(root)) == [str(WORKER_UNIT)]
    assert "did not write it" in remove("--purge").output
    assert unit.read_text() == "[Service]\nExecStart=/bin/true\n"


@pytest.mark.parametrize("path", ["/var/lib/cliffwatch-worker", "/var/cache/cliffwatch-worker"])
def test_a_link_in_a_folders_place_is_not_emptied(
    install: Command, remove: Command, root: Path, path: str
) -> None:
    install()
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").touch()
    in_place(root, Path(path)).symlink_to(elsewhere)

    ended = remove("--purge")

    assert ended.exit_code == 4
    assert (elsewhere / "mine").exists()


def test_links_within_the_spool_lead_removal_nowhere(install: Command, remove: Command, root: Path) -> None:
    install()
    precious = root.parent / "precious"
    precious.mkdir()
    (precious / "mine").touch()
    spool = in_place(root, Path("/var/lib/cliffwatch-worker/spool/jobs/x"))
    spool.symlink_to(precious)

    assert remove("--purge").exit_code == 0
    assert (precious / "mine").exists()
