"""Reads the files of a guest, which are untrusted.

All access to a folder that a guest can write goes through this module. A name is resolved from the folder's
descriptor, one part at a time, and links are not followed. Only regular files are opened, so pipes never
block and devices are never touched. Walks are iterative and bounded, however deep and wide the guest's
folders are.
"""

import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cliffwatch.failure import Failure, kernel_failed
from cliffwatch_runner.sandbox.untrusted_files import open_below

LARGEST_BYTES = 8 << 20
"""Limit of one file that the host reads or keeps."""

LARGEST_RESULTS_BYTES = 256 << 20
MOST_ENTRIES = 20_000
DEEPEST = 8
"""Limits of all that a guest writes: total size, entries and depth.

The agent makes two folders and three files per case.
"""

_MOST_NAMED = 100
_LONGEST_NAME = 200
_PIECE = 1 << 20
_WAY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def read_guest_file(folder: Path, name: str, *, limit: int = LARGEST_BYTES) -> str | None:
    """Reads at most `limit` bytes of the regular file `folder`/`name`, with invalid UTF-8 replaced.

    None if there is no regular file. Links, devices and pipes do not count: a guest could make a link to a
    secret of the host, or a pipe that never ends.
    """
    with open_regular(folder, name) as descriptor:
        if descriptor is None:
            return None
        return read_bytes(descriptor, limit).decode(errors="replace")


def current_case(folder: Path) -> str | None:
    """Returns the case that the guest says it runs; None if it names none.

    A name is at most as long as a file name.
    """
    return (read_guest_file(folder, "current", limit=256) or "").strip() or None


def read_bytes(descriptor: int, limit: int) -> bytes:
    """Reads at most `limit` bytes of an open file, so that a huge sparse file takes no more memory."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read(limit)


@contextmanager
def open_regular(folder: Path, name: str) -> Iterator[int | None]:
    """Opens the regular file `folder`/`name` for reading; None if there is none."""
    with _open_path(folder, name.split("/")) as way:
        descriptor = None
        if way is not None and stat.S_ISREG(os.fstat(way).st_mode):
            descriptor = _open_descriptor(way, os.O_RDONLY | os.O_NONBLOCK)
        try:
            yield descriptor
        finally:
            if descriptor is not None:
                os.close(descriptor)


@contextmanager
def _open_path(folder: Path, parts: Sequence[str]) -> Iterator[int | None]:
    """Yields an O_PATH descriptor of the entry at `parts`; None if the path cannot be walked."""
    try:
        way = open_below(folder, parts, way=_WAY | os.O_DIRECTORY, end=_WAY)
    except OSError:
        way = None
    try:
        yield way
    finally:
        if way is not None:
            os.close(way)


def _open_descriptor(way: int, flags: int) -> int | None:
    """Opens the file or folder of an O_PATH descriptor, and restores missing permissions of its owner."""
    own = Path(f"/proc/self/fd/{way}")
    for mode in (None, 0o700 if flags & os.O_DIRECTORY else 0o600):
        try:
            if mode is not None:
                own.chmod(mode)
            return os.open(own, flags | os.O_CLOEXEC)
        except PermissionError:
            continue
        except OSError:
            return None
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderEntry:
    """An entry below a folder. `name` is its path relative to the folder."""

    name: str
    about: os.stat_result

    @property
    def bytes(self) -> int:
        """The size that a copy may take: a sparse file counts as full."""
        full = self.about.st_size if stat.S_ISREG(self.about.st_mode) else 0
        return max(full, self.about.st_blocks * 512)


def entries_below(folder: Path) -> Iterator[FolderEntry | None]:
    """Yields all entries below a folder, level by level; None for a folder that is unreadable or too deep.

    There may be endless entries: the caller must stop after some number.
    """
    pending: deque[tuple[str, ...]] = deque([()])
    while pending:
        parts = pending.popleft()
        with _open_path(folder, parts) as way:
            listing = _open_descriptor(way, os.O_RDONLY | os.O_DIRECTORY) if way is not None else None
            if listing is None or len(parts) > DEEPEST:
                yield None
            else:
                for name, about in _list_folder(listing):
                    yield FolderEntry(name="/".join((*parts, name)), about=about)
                    if stat.S_ISDIR(about.st_mode):
                        pending.append((*parts, name))
            if listing is not None:
                os.close(listing)


def _list_folder(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as listing:
        for entry in listing:
            with suppress(OSError):  # removed meanwhile
                yield entry.name, entry.stat(follow_symlinks=False)


def find_exceeded_limit(folder: Path) -> Failure | None:
    """Returns which limit on its files a guest exceeds."""
    total = 0
    for count, entry in enumerate(entries_below(folder), 1):
        if entry is None:
            return _wrote_too_much(
                f"the guest made folders that are unreadable or nested deeper than {DEEPEST}"
            )
        total += entry.bytes
        if total > LARGEST_RESULTS_BYTES:
            return _wrote_too_much(f"the guest wrote more than {LARGEST_RESULTS_BYTES >> 20} MiB")
        if count >= MOST_ENTRIES:
            return _wrote_too_much(f"the guest made {MOST_ENTRIES} files or more")
    return None


def _wrote_too_much(message: str) -> Failure:
    return kernel_failed(message, "let the case that wrote it write less, or leave it out")


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenFiles:
    """The result of copying a guest's files."""

    left_out: tuple[str, ...]
    """Unexpected names, escaped, and files that were truncated."""

    cut: bool
    """True if a file, or all of them together, exceeded the size limit."""


def take_guest_files(source: Path, target: Path, names: Sequence[str]) -> TakenFiles:
    """Copies the regular files `names` out of a folder that a guest could write.

    The guest must have ended. Raises OSError if the host cannot write the copies.
    """
    room = LARGEST_RESULTS_BYTES
    taken: set[str] = set()
    cut: list[str] = []
    for name in names:
        with open_regular(source, name) as descriptor:
            # A file with a second name may belong to somebody else.
            if descriptor is None or os.fstat(descriptor).st_nlink > 1:
                continue
            allowed = min(LARGEST_BYTES, room)
            room -= _copy(descriptor, target / name, allowed)
            taken.add(name)
            if os.fstat(descriptor).st_size > allowed:
                cut.append(f"{name} (cut after {allowed} bytes)")
    return TakenFiles(
        left_out=_abbreviate(sorted({*_find_unexpected(source, frozenset(names), taken), *cut})),
        cut=bool(cut),
    )


def _copy(descriptor: int, path: Path, limit: int) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    left = limit
    with path.open("xb") as copy:
        while left > 0 and (piece := os.read(descriptor, min(_PIECE, left))):
            copy.write(piece)
            left -= len(piece)
    return limit - left


def _find_unexpected(source: Path, names: frozenset[str], taken: set[str]) -> Iterator[str]:
    """Yields names in the agent's folders that are not the agent's, or not regular files."""
    folders = sorted({name.rpartition("/")[0] for name in names if "/" in name})
    for folder in ("", *folders):
        with _open_path(source, folder.split("/") if folder else ()) as way:
            listing = _open_descriptor(way, os.O_RDONLY | os.O_DIRECTORY) if way is not None else None
            if listing is None:
                continue
            for name, about in islice(_list_folder(listing), MOST_ENTRIES):
                whole = f"{folder}/{name}" if folder else name
                if whole not in taken and not (whole in folders and stat.S_ISDIR(about.st_mode)):
                    yield escape_name(whole)
            os.close(listing)


def _abbreviate(names: Sequence[str]) -> tuple[str, ...]:
    more = len(names) - _MOST_NAMED
    return (*names[:_MOST_NAMED], *([f"(and {more} more)"] if more > 0 else []))


def escape_name(name: str) -> str:
    """Escapes invalid bytes and unprintable characters, so that a name can be stored and shown."""
    text = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    plain = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[:_LONGEST_NAME]}…"
