"""Cache entries. They are named by their content, complete or absent, and safe under concurrent use."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cliffwatch_runner import clock


class Stopped(Exception):
    """The user asked to stop while something waited or built."""


@contextmanager
def hold_lock(path: Path, *, waiting: Callable[[], None], should_stop: Callable[[], bool]) -> Iterator[None]:
    """Holds an exclusive lock on a file.

    If another process holds it, calls `waiting` once and waits. Raises Stopped.

    The lock ends with its holder, however that ends. The file remains and has no meaning.
    """
    waited = False
    while (descriptor := _try_open_locked(path)) is None:
        if not waited:
            waiting()
            waited = True
        if should_stop():
            raise Stopped
        clock.pause(0.2)
    try:
        yield
    finally:
        os.close(descriptor)


def _try_open_locked(path: Path) -> int | None:
    """Returns a descriptor of the locked file.

    Returns None if another process holds the lock or has just removed the file with its folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    if lock_alone(descriptor) and is_at(descriptor, path):
        return descriptor
    os.close(descriptor)
    return None


def lock_alone(descriptor: int) -> bool:
    """Locks a file with flock(2). Returns False if another process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_at(descriptor: int, path: Path) -> bool:
    """True if the open file is still at its path.

    Its folder may have been removed while the caller waited for the lock.
    """
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def open_to_read(folder: Path) -> None:
    """Sets the modes that the usual umask gives, whatever the user's umask is.

    A guest's view of a folder must not depend on it.
    """
    for path in (folder, *folder.rglob("*")):
        runs = path.is_dir() or path.lstat().st_mode & 0o100
        path.chmod(0o755 if runs else 0o644)


@contextmanager
def new_entry(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder.

    If the block succeeds, it atomically becomes `folder`; otherwise it is removed.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield temporary
        open_to_read(temporary)
        if folder.exists():
            shutil.rmtree(folder)
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
