"""Extracts the root file system of a container image for guests.

A bench that was linked against a newer libc than the host's does not start on the host's programs. So the
guest gets the libraries of the image in which bench was built.
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
"""In the cache: one folder per image, named by its digest, with the file system in `root`."""

_SECONDS = 600.0
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_CONTAINER = re.compile(r"[0-9a-f]{6,64}")
_UNPACK = """
umask 022
tar --extract --file "$1/root.tar" --directory "$1/root" --no-same-owner --no-same-permissions \\
  --anchored --exclude='./dev/*' --exclude='dev/*' --exclude='./proc/*' --exclude='proc/*' || exit
rm "$1/root.tar" || exit
find "$1/root" ! -type f ! -type d ! -type l -delete || exit
chmod 755 "$1/root" "$1"
"""
"""Sets the same modes whatever the user's umask is.

Omits devices and pipes: unpacked by root they would be real.
"""


class _EngineFailed(Exception):
    """Output of the engine or of tar."""


def image_root(cache: Path, image: str, uses: Uses, should_stop: Callable[[], bool]) -> Path | Failure | None:
    """Returns the image's file system, held until the run ends.

    Returns None if it has no udev, without which no guest starts. Raises Stopped if the run must end, OSError
    if the cache cannot be written.
    """
    try:
        digest = _last_word(
            _run_engine(["image", "inspect", "--format", "{{.Id}}", image], should_stop), _DIGEST
        )
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
    """Stores the file system atomically. If another process was faster, its result is used."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        (temporary / "root").mkdir()
        container = _last_word(
            _run_engine(["create", "--network", "none", digest, "true"], should_stop), _CONTAINER
        )
        try:
            _run_engine(["export", "--output", str(temporary / "root.tar"), container], should_stop)
        finally:
            process.run([_engine(), "rm", "--force", container], deadline=_SECONDS)
        _check_finished(
            process.run(
                ["sh", "-c", _UNPACK, "sh", str(temporary)], deadline=_SECONDS, should_stop=should_stop
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


def _run_engine(words: Sequence[str], should_stop: Callable[[], bool]) -> str:
    return _check_finished(process.run([_engine(), *words], deadline=_SECONDS, should_stop=should_stop))


def _check_finished(finished: process.Finished) -> str:
    if finished.stopped:
        raise Stopped
    if not finished.ok:
        raise _EngineFailed(finished.output)
    return finished.output


def _last_word(output: str, form: re.Pattern[str]) -> str:
    """Returns the last word of the output, because an engine may print warnings before its answer."""
    match = form.fullmatch((output.split() or [""])[-1])
    if match is None:
        raise _EngineFailed(output)
    return match[match.lastindex or 0]
