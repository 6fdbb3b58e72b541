"""Tracks who uses cache entries.

A run holds its entries, so that pruning skips them; each use records its time.

An entry is a folder with a marker file that is locked with flock(2): shared by users, exclusive by the
remover. The marker's modification time is the entry's last use, which does not depend on access times of the
file system.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from cliffwatch_runner.build.cache.entries import is_at, lock_alone
from cliffwatch_runner.sandbox.untrusted_files import remove_tree

MARK = "cliffwatch-used"

_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Uses:
    """The cache entries that one run uses."""

    def __init__(self) -> None:
        self._descriptors: list[int] = []

    def take(self, folder: Path, *, make: bool = False) -> bool:
        """Holds an entry until the run ends. Returns False if it does not exist.

        With `make` a missing entry is created. Raises OSError if it cannot be written.
        """
        while True:
            if make:
                folder.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(folder / MARK, os.O_RDWR | os.O_CREAT | _FLAGS, 0o644)
            except FileNotFoundError:
                if make:  # it was removed in this moment
                    continue
                return False
            # Somebody who looks or removes has it for a moment only.
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if is_at(descriptor, folder / MARK):
                os.utime(descriptor)
                self._descriptors.append(descriptor)
                return True
            os.close(descriptor)

    def let_go(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())


@contextmanager
def cache_uses() -> Iterator[Uses]:
    """Yields uses that end with the block."""
    uses = Uses()
    try:
        yield uses
    finally:
        uses.let_go()


def last_used(folder: Path) -> datetime:
    """Returns when an entry was last used; for an unused entry, when it was created."""
    mark = folder / MARK
    seconds = (mark if mark.exists() else folder).lstat().st_mtime
    return datetime.fromtimestamp(seconds, UTC)


def is_used(folder: Path, lock: str = MARK) -> bool:
    """True if a living process holds the entry's lock file.

    An entry that cannot be examined counts as used.
    """
    try:
        descriptor = os.open(folder / lock, os.O_RDONLY | _FLAGS)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return not lock_alone(descriptor)
    finally:
        os.close(descriptor)


def remove_unused(folder: Path, lock: str = MARK) -> bool:
    """Removes an entry atomically for other processes. Returns False if somebody uses it. Raises OSError."""
    with suppress(FileNotFoundError):
        descriptor = os.open(folder / lock, os.O_RDWR | os.O_CREAT | _FLAGS, 0o644)
        try:
            if not lock_alone(descriptor):
                return False
            if is_at(descriptor, folder / lock):
                aside = Path(tempfile.mkdtemp(prefix=".removed-", dir=folder.parent))
                folder.rename(aside / folder.name)
                remove_tree(aside)
        finally:
            os.close(descriptor)
    return True
