"""The root file system of a container image, for guests: bench runs on the libraries that it was linked with.

A bench that was built on a newer libc than the host's does not start in a guest that has the host's programs.
"""

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner import process
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.build.cache.uses import Uses
from cliffwatch_runner.host.programs import container_engine, find_udev
from cliffwatch_runner.sandbox.untrusted_files import remove_tree

FOLDER = "guest-roots"
"""In the cache: a folder for each image by its digest, with the file system under `root`."""

_SECONDS = 600.0
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_CONTAINER = re.compile(r"[0-9a-f]{6,64}")
_UNPACKED = """
umask 022
tar --extract --file "$1/root.tar" --directory "$1/root" --no-same-owner --no-same-permissions \\
  --anchored --exclude='./dev/*' --exclude='dev/*' --exclude='./proc/*' --exclude='proc/*' || exit
rm "$1/root.tar" || exit
find "$1/root" ! -type f ! -type d ! -type l -delete || exit
chmod 755 "$1/root" "$1"
"""
"""The same modes whatever the user's umask is, and nothing that is a device or a pipe: as root those would be
real ones.
"""


class _EngineFailed(Exception):
    """What the engine or tar said."""


def image_root(cache: Path, image: str, uses: Uses, should_stop: Callable[[], bool]) -> Path | Failure | None:
    """The file system, held until the run ends; None of an image without udev, in which no guest can be
    started.

    Raises Stopped where the run is to end, OSError where the cache may not be written.
    """
    try:
        digest = _last_word(_asked(["image", "inspect", "--format", "{{.Id}}", image], should_stop), _DIGEST)
        folder = cache / FOLDER / digest[:32]
        while not uses.take(folder):
            _unpack(digest, folder, should_stop)
    except _EngineFailed as failed:
        return host_failed(
            f"the file system of the image {image} cannot be read, which guests would run on",
            "see what the engine says, or name a root file system with --guest-root",
            str(failed),
        )
    root = folder / "root"
    return root if find_udev(root) is not None else None


def _unpack(digest: str, folder: Path, should_stop: Callable[[], bool]) -> None:
    """Puts the file system there in one step; whoever comes second takes what is there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        (temporary / "root").mkdir()
        container = _last_word(
            _asked(["create", "--network", "none", digest, "true"], should_stop), _CONTAINER
        )
        try:
            _asked(["export", "--output", str(temporary / "root.tar"), container], should_stop)
        finally:
            process.run([_engine(), "rm", "--force", container], deadline=_SECONDS)
        _done(
            process.run(
                ["sh", "-c", _UNPACKED, "sh", str(temporary)], deadline=_SECONDS, should_stop=should_stop
            )
        )
        try:
            temporary.replace(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        remove_tree(temporary)


def _engine() -> str:
    return container_engine() or "docker"


def _asked(words: Sequence[str], should_stop: Callable[[], bool]) -> str:
    return _done(process.run([_engine(), *words], deadline=_SECONDS, should_stop=should_stop))


def _done(finished: process.Finished) -> str:
    if finished.stopped:
        raise Stopped
    if not finished.ok:
        raise _EngineFailed(finished.output)
    return finished.output


def _last_word(output: str, form: re.Pattern[str]) -> str:
    """An engine may warn before it answers."""
    match = form.fullmatch((output.split() or [""])[-1])
    if match is None:
        raise _EngineFailed(output)
    return match[match.lastindex or 0]
