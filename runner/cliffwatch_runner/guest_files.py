"""Reads what a guest wrote, as what it is: files of someone else's making."""

import os
import stat
from pathlib import Path

LARGEST_BYTES = 8 << 20


def read_guest_file(path: Path, *, limit: int = LARGEST_BYTES) -> str | None:
    """The text of a regular file, at most `limit` bytes of it, invalid UTF-8 replaced; None if there is none.

    Links, devices and pipes are no files here: a guest could make a link to a secret of the host, or a pipe that never
    ends.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(limit).decode(errors="replace")
    finally:
        os.close(descriptor)


def folder_bytes(folder: Path) -> int:
    """What a folder holds, in bytes, links not followed and at most 10,000 entries counted."""
    total = 0
    for count, (root, _, names) in enumerate(os.walk(folder)):
        for name in names[:1000]:
            try:
                total += os.lstat(Path(root) / name).st_size
            except OSError:
                continue
        if count >= 10:  # the agent makes three folders; a guest that makes more is not worth walking
            break
    return total


def keep_only_expected(folder: Path, expected: frozenset[str]) -> tuple[str, ...]:
    """Removes from `folder` what the agent does not write there; returns the names, for the record."""
    removed: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.name in expected and not path.is_symlink() and (path.is_file() or path.is_dir()):
            continue
        removed.append(path.name)
        _remove(path)
    return tuple(removed)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for child in path.iterdir():
            _remove(child)
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
