"""A suite's folder becomes one archive, which depends on its content alone."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from cliffwatch.failure import Failure
from cliffwatch_runner.source import suite_folder
from cliffwatch_runner.source.suite_folder import PackedFolder, pack_folder


def filled(folder: Path) -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "suite.toml").write_text('title = "x"\n')
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "src" / "a.c").write_text("int main(void) { return 0; }\n")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "lookup").write_bytes(b"\x7fELF made before")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref\n")
    return folder


def packed(folder: Path) -> PackedFolder:
    found = pack_folder(folder, made=("lookup", "run.sh"))
    assert isinstance(found, PackedFolder), found
    return found


def test_equal_folders_are_equal_wherever_they_lie_and_whenever_they_were_written(tmp_path: Path) -> None:
    one, other = filled(tmp_path / "one"), filled(tmp_path / "two" / "deep")
    os.utime(one / "run.sh", (0, 0))
    (other / "suite.toml").write_text('title = "y"\n')

    assert packed(one) == packed(other)
    (other / "src" / "a.c").chmod(0o755)
    assert packed(one).digest != packed(other).digest


def test_a_program_that_the_build_makes_anew_stays_out_and_a_link_stays_a_link(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(filled(tmp_path / "one")).archive)) as archive:
        entries = {entry.name: entry for entry in archive}

    assert sorted(entries) == ["link", "run.sh", "src", "src/a.c"]
    assert (entries["link"].issym(), entries["link"].linkname) == (True, "/etc/passwd")
    assert [entries[name].mode for name in ("run.sh", "src/a.c")] == [0o755, 0o644]


def test_a_folder_that_is_too_large_is_refused_before_it_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = filled(tmp_path / "one")
    with (folder / "trace").open("wb") as large:
        large.truncate(suite_folder.MOST_BYTES + 1)
    too_large = pack_folder(folder, made=())
    (folder / "trace").unlink()
    monkeypatch.setattr(suite_folder, "MOST_FILES", 3)
    too_many = pack_folder(folder, made=())

    for refused in (too_large, too_many):
        assert isinstance(refused, Failure)
        assert refused.whose == "usage"
        assert "keep in it only what its program is built from" in refused.next_step


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = filled(tmp_path / "one")
    os.mkfifo(folder / "pipe")
    refused = pack_folder(folder, made=())

    assert isinstance(refused, Failure)
    assert refused.message == f"{folder / 'pipe'} is no file, folder or link"
