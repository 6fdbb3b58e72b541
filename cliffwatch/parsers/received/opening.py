"""Reads an input exactly once, since a pipe gives its bytes only once.

All decisions use the bytes that were read.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from cliffwatch.counting import size_text
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.parsers.received.decoding import decode
from cliffwatch.parsers.received.unpacking import LARGEST_BYTES, unpack

STANDARD_INPUT = "-"


def read_content(name: str | Path) -> bytes | Failure:
    """Reads and unpacks a file, a pipe or `-`. Inputs over 64 MiB are refused, not cut."""
    try:
        content = _read(str(name))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return wrong_usage(f"{name} cannot be read: {reason}", "check the path")
    if len(content) > LARGEST_BYTES:
        return wrong_usage(
            f"{name} is larger than {LARGEST_BYTES >> 20} MiB", "split it by benchmark and compare the parts"
        )
    return unpack(content, str(name))


def read_text(name: str | Path) -> str | Failure:
    """Reads a file, a pipe or `-` as text. Compression and encoding are detected."""
    content = read_content(name)
    return content if isinstance(content, Failure) else decode(content)


def read_regular(path: Path, most: int) -> bytes:
    """Reads at most `most` bytes of a file.

    Raises OSError if the file does not exist, and for a pipe or a device, which might never end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file, but a pipe, a device or a folder")
        return file.read(most)


def read_limited(path: Path, most: int = LARGEST_BYTES) -> bytes:
    """Reads a file of at most `most` bytes. Raises OSError as `read_regular`, and for a larger file."""
    try:
        content = read_regular(path, most + 1)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {size_text(most)}", str(path))
    return content


def _read(name: str) -> bytes:
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise ValueError("standard input is closed")
        return sys.stdin.buffer.read(LARGEST_BYTES + 1)
    with Path(name).open("rb") as file:
        return file.read(LARGEST_BYTES + 1)


def refuse_shared_pipe(names: Iterable[str]) -> Failure | None:
    """Refuses inputs of which two are the same pipe, which can be read only once. None if there are none."""
    first: dict[tuple[int, int], str] = {}
    for name in names:
        pipe = _pipe(name)
        if pipe is None:
            continue
        if pipe in first:
            return wrong_usage(
                f"{first[pipe]} and {name} are the same pipe, which can be read only once",
                "use standard input for one side and a file for the other",
            )
        first[pipe] = name
    return None


def _pipe(name: str) -> tuple[int, int] | None:
    """Returns device and inode of an input that can be read only once.

    None for files, folders and missing paths.
    """
    # `Path` would drop dots.
    path = name.rpartition(":")[0] if ":" in name and not os.path.exists(name) else name  # noqa: PTH110
    try:
        found = os.fstat(0) if path == STANDARD_INPUT else os.stat(path)  # noqa: PTH116 - fstat has no path
    except (OSError, ValueError):
        return None
    once = path == STANDARD_INPUT or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))
    return (found.st_dev, found.st_ino) if once else None
