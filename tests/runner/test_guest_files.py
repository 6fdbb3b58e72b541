"""A guest's files are read as files of someone who means harm."""

import os
from pathlib import Path

import pytest

from cliffwatch_runner.guest_files import folder_bytes, keep_only_expected, read_guest_file


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"5.382M/s \xff\n")

    assert read_guest_file(tmp_path / "f") == "5.382M/s �\n"


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x" * 100)

    assert read_guest_file(tmp_path / "f", limit=10) == "x" * 10


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

    assert read_guest_file(path) is None


def test_names_that_the_agent_does_not_write_are_removed_and_told(tmp_path: Path) -> None:
    (tmp_path / "dmesg").write_text("")
    (tmp_path / "cases").symlink_to("/etc")
    (tmp_path / "boot.json").write_text("{}")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "link").symlink_to("/")

    removed = keep_only_expected(tmp_path, frozenset({"dmesg", "cases"}))

    assert removed == ("boot.json", "cases", "deep")
    assert [path.name for path in tmp_path.iterdir()] == ["dmesg"]


def test_the_size_of_a_folder_counts_no_links(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * 5000)
    (tmp_path / "link").symlink_to("/")

    assert 5000 <= folder_bytes(tmp_path) < 6000
