"""With `--build-image` guests run on the image's file system: bench needs the libraries that it was linked
with.
"""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from toy import RecordedProgress, request

from cliffwatch.failure import Failure
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.build.cache.listing import list_cache
from cliffwatch_runner.build.cache.uses import Uses, cache_uses
from cliffwatch_runner.build.image_root import image_root
from cliffwatch_runner.build.toolchain import ToolChoice
from cliffwatch_runner.run.prepare import _choose_guest_root

ENGINE = """#!/bin/sh
# As docker is called for it, with images that no container of runs. Podman warns like this.
echo "$*" >> {log}
echo 'WARN[0000] "/" is not a shared mount, this could cause issues' >&2
case "$1 $2" in
"image inspect")
  case "$5" in
  tools:1) echo sha256:{tools} ;;
  other:1) echo {other} ;;
  *) echo "Error: No such image: $5"; exit 1 ;;
  esac ;;
"create --network") [ "$4" = {tools} ] && echo c0ffee || echo deadbeef ;;
"export --output")
  if [ -e {broken} ]; then echo cut > "$3"; else tar --create --file "$3" --directory {files} .; fi ;;
"rm --force") ;;
*) exit 125 ;;
esac
"""
TOOLS, OTHER = "5a" * 32, "6b" * 32


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file system of the images; calls of the engine are written beside it, and `broken` cuts an export
    short.
    """
    files, engine = tmp_path / "files", tmp_path / "engine"
    for folder in ("usr/lib/systemd", "usr/lib/terms/dev", "dev"):
        (files / folder).mkdir(parents=True)
    (files / "usr/lib/systemd/systemd-udevd").write_text("udev\n")
    (files / "usr/lib/terms/dev/tty").write_text("a file\n")
    (files / "lib").symlink_to("/usr/lib")
    (files / "dev/console").write_text("no device\n")
    engine.mkdir()
    script = ENGINE.format(
        log=tmp_path / "calls", broken=tmp_path / "broken", tools=TOOLS, other=OTHER, files=files
    )
    (engine / "docker").write_text(script)
    (engine / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{engine}:/usr/bin:/bin")
    return files


def root_of(tmp_path: Path, image: str = "tools:1", uses: Uses | None = None) -> Path | Failure | None:
    return image_root(tmp_path / "cache", image, uses or Uses(), lambda: False)


@pytest.mark.usefixtures("files")
def test_the_file_system_is_unpacked_once_and_held(tmp_path: Path) -> None:
    with cache_uses() as uses:
        root = root_of(tmp_path, uses=uses)
        assert isinstance(root, Path)
        assert root == tmp_path / "cache" / "guest-roots" / TOOLS[:32] / "root"
        assert (root / "lib").readlink() == Path("/usr/lib")
        assert (root / "usr/lib/terms/dev/tty").read_text() == "a file\n"
        assert not any((root / "dev").iterdir()), "a guest has devices of its own"
        (entry,) = list_cache(tmp_path / "cache").of("root")
        assert entry.in_use
        assert root_of(tmp_path, uses=uses) == root

    calls = (tmp_path / "calls").read_text()
    assert (calls.count("export"), calls.count("rm --force c0ffee")) == (1, 1)
    assert not list_cache(tmp_path / "cache").of("root")[0].in_use
    assert not list_cache(tmp_path / "cache").of("leftover")


@pytest.mark.usefixtures("files")
def test_each_image_has_a_root_of_its_own_whatever_the_engine_warns_of(tmp_path: Path) -> None:
    assert root_of(tmp_path) != root_of(tmp_path, "other:1")
    assert {entry.name for entry in list_cache(tmp_path / "cache").of("root")} == {TOOLS[:32], OTHER[:32]}


def test_guests_can_read_it_whatever_the_users_umask_is(files: Path, tmp_path: Path) -> None:
    (files / "usr/lib/systemd/systemd-udevd").chmod(0o644)
    before = os.umask(0o077)
    try:
        root = root_of(tmp_path)
    finally:
        os.umask(before)

    assert isinstance(root, Path)
    for path in (root, root.parent, root / "usr/lib/systemd"):
        assert path.stat().st_mode & 0o777 == 0o755
    assert (root / "usr/lib/systemd/systemd-udevd").stat().st_mode & 0o777 == 0o644


def test_what_is_no_file_folder_or_link_is_left_out(files: Path, tmp_path: Path) -> None:
    """As root an archive's devices would become real ones."""
    os.mkfifo(files / "pipe")
    root = root_of(tmp_path)

    assert isinstance(root, Path)
    assert not (root / "pipe").exists()


def test_an_image_without_udev_leaves_guests_on_the_hosts_programs(files: Path, tmp_path: Path) -> None:
    """Its /lib leads to its own /usr/lib, and not to this host's."""
    (files / "usr/lib/systemd/systemd-udevd").unlink()

    assert root_of(tmp_path) is None


@pytest.mark.usefixtures("files")
def test_an_image_that_is_not_there_is_a_failure_with_what_the_engine_said(tmp_path: Path) -> None:
    failure = root_of(tmp_path, "none:1")

    assert isinstance(failure, Failure)
    assert "No such image: none:1" in failure.evidence
    assert "--guest-root" in failure.next_step


@pytest.mark.usefixtures("files")
def test_an_export_that_was_cut_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    failure = root_of(tmp_path)

    assert isinstance(failure, Failure)
    assert "tar" in failure.evidence
    assert not any((tmp_path / "cache" / "guest-roots").iterdir())
    assert "rm --force c0ffee" in (tmp_path / "calls").read_text()


@pytest.mark.usefixtures("files")
def test_unpacking_ends_when_the_run_is_to_end(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        image_root(tmp_path / "cache", "tools:1", Uses(), lambda: True)


def tools_with(progress: RecordedProgress) -> Any:
    settings = SimpleNamespace(uses=Uses(), should_stop=lambda: False)
    return SimpleNamespace(progress=progress, settings=settings)


@pytest.mark.usefixtures("files")
def test_a_root_that_was_named_wins_over_the_images(tmp_path: Path) -> None:
    named = tmp_path / "named"
    for guest_root, expected in (
        (named, named),
        (None, tmp_path / "cache" / "guest-roots" / TOOLS[:32] / "root"),
    ):
        tools = ToolChoice(cc=None, clang=None, pahole=None, build_image="tools:1")
        wanted = request(tmp_path, tmp_path, tools=tools, guest_root=guest_root)

        assert _choose_guest_root(wanted, tools_with(RecordedProgress())) == expected


def test_that_guests_run_on_the_hosts_programs_is_said(files: Path, tmp_path: Path) -> None:
    (files / "usr/lib/systemd/systemd-udevd").unlink()
    tools, progress = ToolChoice(cc=None, clang=None, pahole=None, build_image="tools:1"), RecordedProgress()

    assert _choose_guest_root(request(tmp_path, tmp_path, tools=tools), tools_with(progress)) is None
    assert any("guests use this host's programs" in line for line in progress.lines)
