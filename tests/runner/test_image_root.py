"""With `--build-image` guests run on the image's file system: bench needs the libraries that it was linked with."""

from pathlib import Path

import pytest

from cliffwatch.failure import Failure
from cliffwatch_runner.build.cache.listing import list_cache
from cliffwatch_runner.build.cache.uses import Uses, cache_uses
from cliffwatch_runner.build.image_root import image_root

ENGINE = """#!/bin/sh
# As docker is called for it, with one image and no container that runs.
echo "$*" >> {log}
case "$1 $2" in
"image inspect") [ "$5" = tools:1 ] && echo sha256:{digest} || {{ echo "Error: No such image: $5"; exit 1; }} ;;
"create --network") echo "a warning of the engine"; echo c0ffee ;;
"export --output") tar --create --file "$3" --directory {files} . ;;
"rm --force") ;;
*) exit 125 ;;
esac
"""
DIGEST = "5a" * 32


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file system of the image; calls of the engine are written beside it."""
    files, engine = tmp_path / "files", tmp_path / "engine"
    for folder in ("usr/lib/systemd", "lib", "dev"):
        (files / folder).mkdir(parents=True)
    (files / "usr/lib/systemd/systemd-udevd").write_text("udev\n")
    (files / "lib/libc.so.6").symlink_to("/usr/lib/libc.so.6")
    (files / "dev/console").write_text("no device\n")
    engine.mkdir()
    (engine / "docker").write_text(ENGINE.format(log=tmp_path / "calls", digest=DIGEST, files=files))
    (engine / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{engine}:/usr/bin:/bin")
    return files


@pytest.mark.usefixtures("files")
def test_the_file_system_is_unpacked_once_and_held(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with cache_uses() as uses:
        root = image_root(cache, "tools:1", uses)
        assert isinstance(root, Path)
        assert root == cache / "guest-roots" / DIGEST[:32] / "root"
        assert (root / "lib/libc.so.6").readlink() == Path("/usr/lib/libc.so.6")
        assert not any((root / "dev").iterdir()), "a guest has devices of its own"
        (entry,) = list_cache(cache).of("root")
        assert entry.in_use
        assert image_root(cache, "tools:1", uses) == root

    calls = (tmp_path / "calls").read_text()
    assert (calls.count("export"), calls.count("rm --force c0ffee")) == (1, 1)
    assert not list_cache(cache).of("root")[0].in_use
    assert not list_cache(cache).of("leftover")


def test_an_image_without_udev_leaves_guests_on_the_hosts_programs(files: Path, tmp_path: Path) -> None:
    (files / "usr/lib/systemd/systemd-udevd").unlink()

    assert image_root(tmp_path / "cache", "tools:1", Uses()) is None


@pytest.mark.usefixtures("files")
def test_an_image_that_is_not_there_is_a_failure_with_what_the_engine_said(tmp_path: Path) -> None:
    failure = image_root(tmp_path / "cache", "none:1", Uses())

    assert isinstance(failure, Failure)
    assert "No such image: none:1" in failure.evidence
    assert "--guest-root" in failure.next_step
