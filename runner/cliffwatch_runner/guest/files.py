"""Takes what a guest wrote, as what it is: files of someone else's making.

Whatever lies in a folder that a guest can write is opened through here and nowhere else. A name is walked
from the folder's own descriptor, a part at a time, and no link is followed; of what lies there only
regular files are opened, so that a pipe is not waited for and a device not woken. No walk is a recursion,
and each has an end, however deep and wide the guest built.
"""

import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cliffwatch_runner.sandbox.untrusted_files import open_below

LARGEST_BYTES = 8 << 20
"""Of one file, as far as the host reads or keeps it."""

LARGEST_RESULTS_BYTES = 256 << 20
MOST_ENTRIES = 20_000
DEEPEST = 8
"""Of all that a guest leaves. The agent makes two folders and three files a case."""

_MOST_NAMED = 100
_LONGEST_NAME = 200
_PIECE = 1 << 20
_WAY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def read_guest_file(folder: Path, name: str, *, limit: int = LARGEST_BYTES) -> str | None:
    """The text of the regular file `folder`/`name`, at most `limit` bytes of it, invalid UTF-8 replaced; None
    if there is none.

    Links, devices and pipes are no files here: a guest could make a link to a secret of the host, or a
    pipe that never ends.
    """
    with open_regular(folder, name) as descriptor:
        if descriptor is None:
            return None
        return read_bytes(descriptor, limit).decode(errors="replace")


def current_case(folder: Path) -> str | None:
    """The case that the guest says it is in. A case's name is one of files, so no longer than those."""
    return (read_guest_file(folder, "current", limit=256) or "").strip() or None


def read_bytes(descriptor: int, limit: int) -> bytes:
    """What an open file holds, at most `limit` bytes of it; a sparse one of a terabyte takes no
    more memory.
    """
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read(limit)


@contextmanager
def open_regular(folder: Path, name: str) -> Iterator[int | None]:
    """A descriptor of the regular file `folder`/`name` to read; None where there is none."""
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
    """A descriptor of what lies at the end of `parts`, which is not opened; None where a folder on the way is
    none.
    """
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
    """The file or folder of a descriptor that opened nothing yet, also where its owner took away his own
    right to read it.
    """
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
    """A name below a folder, its parts with slashes between them, and what it is."""

    name: str
    about: os.stat_result

    @property
    def bytes(self) -> int:
        """What it may cost to keep: a sparse file counts as if it were full."""
        full = self.about.st_size if stat.S_ISREG(self.about.st_mode) else 0
        return max(full, self.about.st_blocks * 512)


def entries_below(folder: Path) -> Iterator[FolderEntry | None]:
    """All that lies below a folder, level by level; None for a folder that cannot be looked into, or lies too
    deep for it.

    Endless, as far as anybody knows: the caller stops at a number.
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
            with suppress(OSError):  # gone meanwhile
                yield entry.name, entry.stat(follow_symlinks=False)


def find_exceeded_limit(folder: Path) -> str | None:
    """What a guest made too much of, in words; None where it stays within what a guest may write."""
    total = 0
    for count, entry in enumerate(entries_below(folder), 1):
        if entry is None:
            return f"the guest made folders that cannot be looked into, or are nested deeper than {DEEPEST}"
        total += entry.bytes
        if total > LARGEST_RESULTS_BYTES:
            return f"the guest wrote more than {LARGEST_RESULTS_BYTES >> 20} MiB"
        if count >= MOST_ENTRIES:
            return f"the guest made {MOST_ENTRIES} files or more"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenFiles:
    """What was taken of a guest's folder. `left_out` are names that it should not have, escaped, and files
    that were cut; `cut` means that a file was larger than it may be, or all of them together.
    """

    left_out: tuple[str, ...]
    cut: bool


def take_guest_files(source: Path, target: Path, names: Sequence[str]) -> TakenFiles:
    """Copies the regular files `names` from a folder that a guest could write into one that it could not.

    The guest has ended. Raises OSError where the host cannot write the copies.
    """
    room = LARGEST_RESULTS_BYTES
    taken: set[str] = set()
    cut: list[str] = []
    for name in names:
        with open_regular(source, name) as descriptor:
            if (
                descriptor is None or os.fstat(descriptor).st_nlink > 1
            ):  # by its other name it may be somebody's
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
    """Names in the agent's folders that are none of its own, or no regular files."""
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
    """A name as it can be stored and shown: bytes that are no text, and letters that do not print, as
    escapes.
    """
    text = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    plain = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[:_LONGEST_NAME]}…"
