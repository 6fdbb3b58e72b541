"""Entries of the cache: named by their content, complete or not there, safe when two processes want the same."""

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
def locked(path: Path, *, waiting: Callable[[], None], should_stop: Callable[[], bool]) -> Iterator[None]:
    """Holds an exclusive lock on a file. `waiting` is called once if another process holds it; raises Stopped.

    The lock ends with the process that holds it, however that ends; the file stays and means nothing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        told = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    waiting()
                    told = True
                if should_stop():
                    raise Stopped from None
                clock.pause(0.2)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def new_entry(place: Path) -> Iterator[Path]:
    """A temporary folder that becomes `place` in one step when the block ends well, and is removed when it does not."""
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        if place.exists():
            shutil.rmtree(place)
        temporary.replace(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
