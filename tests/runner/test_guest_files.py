"""A guest's files are read as files of someone who means harm."""

import os
from pathlib import Path

import pytest

from cliffwatch_runner.guest.files import read_guest_file, take_guest_files


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"5.382M/s \xff\n")

    assert read_guest_file(tmp_path, "f") == "5.382M/s �\n"


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x" * 100)

    assert read_guest_file(tmp_path, "f", limit=10) == "x" * 10


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder", "nothing"])
def test_what_is_no_regular_file_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "f"
    (tmp_path / "secret").write_text("secret")
    {
        "link": lambda: path.symlink_to(tmp_path / "secret"),
        "dangling link": lambda: path.symlink_to(tmp_path / "none"),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "nothing": lambda: None,
    }[kind]()

    assert read_guest_file(tmp_path, "f") is None


def test_a_link_on_the_way_to_a_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "f").write_text("secret")
    (tmp_path / "cases").symlink_to(tmp_path / "host")

    assert read_guest_file(tmp_path, "cases/f") is None
    assert read_guest_file(tmp_path, "host/f") == "secret"


def test_what_the_agent_does_not_write_is_left_out_and_told(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "link").symlink_to("/")
    (source / "dmesg").write_text("hello")
    (source / "cases").symlink_to("/etc")
    (source / "boot.json").write_text("{}")
    target.mkdir()

    taken = take_guest_files(source, target, ("dmesg", "cases/passwd"))

    assert taken.left_out == ("boot.json", "cases", "deep")
    assert not taken.cut
    assert [(path.name, path.read_text()) for path in target.iterdir()] == [("dmesg", "hello")]
