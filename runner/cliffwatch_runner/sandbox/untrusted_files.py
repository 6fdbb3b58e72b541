"""Opens files that a build may have written: regular files only, through descriptors, as copies.

A build owns its output folder. A name in it may be a link to a secret of the host, a pipe that nobody writes
to, a device, a folder, or a file larger than the memory. All code of the host must therefore read it through
`UntrustedFolder`. Only the sandbox, which mounts the folder, uses its path.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from cliffwatch_runner import process

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PIECE = 1 << 20
_REMOVAL_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfitFile:
    """A file that is not copied."""

    name: str
    reason: str
    """Predicate that follows the file's name in a sentence."""


@dataclass(frozen=True, slots=True)
class UntrustedFolder:
    """A folder that untrusted code writes."""

    mount_source: Path
    """Path for the sandbox only."""

    def read(self, name: str, *, limit: int) -> bytes | UnfitFile:
        """Returns the content of a regular file of at most `limit` bytes."""
        try:
            with self._opened(name) as file:
                return _content(file, name, limit)
        except OSError as error:
            return UnfitFile(name=name, reason=_describe_error(error))

    def copy(self, name: str, to: Path, *, limit: int, mode: int = 0o644) -> UnfitFile | None:
        """Copies a regular file of at most `limit` bytes to a new file of the host.

        Raises OSError if the new file cannot be written.
        """
        try:
            with self._opened(name) as file:
                wrong = _check_file(file, name, limit)
                return wrong if wrong is not None else _copy_file(file, name, to, limit, mode)
        except _Unreadable as error:
            return UnfitFile(name=name, reason=_describe_error(error.cause))

    def below(self, name: str) -> "UntrustedFolder":
        """Returns a subfolder. If it is a link, it is not followed either."""
        assert name not in ("", ".", "..")
        assert "/" not in name
        return UntrustedFolder(self.mount_source / name)

    def names(self, folder: str, *, limit: int) -> tuple[str, ...]:
        """Returns up to `limit` names in a folder, sorted; empty if there is no such folder."""
        try:
            with self._opened(folder, end=_FOLDER) as descriptor, os.scandir(descriptor) as entries:
                return tuple(sorted(entry.name for entry in islice(entries, limit)))
        except OSError:
            return ()

    @contextmanager
    def _opened(self, name: str, end: int = _FILE) -> Iterator[int]:
        """Yields a descriptor for a relative name, opened folder by folder without following links."""
        parts = PurePosixPath(name).parts
        assert not {"..", "/"} & set(parts), name
        try:
            descriptor = (
                open_below(self.mount_source, parts, way=_FOLDER, end=end)
                if parts
                else os.open(self.mount_source, end)
            )
        except OSError as error:
            raise _Unreadable(error) from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def open_below(folder: Path, parts: Sequence[str], *, way: int, end: int) -> int:
    """Opens the path `parts` below a folder, each part relative to the descriptor of the part before.

    `way` has the flags for folders, `end` those for the last part. With O_NOFOLLOW no link is followed.
    Raises OSError.
    """
    descriptor = os.open(folder, way)
    for index, part in enumerate(parts):
        above = descriptor
        try:
            descriptor = os.open(part, end if index == len(parts) - 1 else way, dir_fd=above)
        finally:
            os.close(above)
    return descriptor


class _Unreadable(OSError):
    """The untrusted file could not be opened, in contrast to an error on the host's own file."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(cause.errno, cause.strerror)
        self.cause = cause


def _check_file(file: int, name: str, limit: int) -> UnfitFile | None:
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode):
        return UnfitFile(name=name, reason="is no regular file")
    if about.st_size > limit:
        return UnfitFile(
            name=name, reason=f"has {about.st_size} bytes, more than the {limit} that one may have"
        )
    return None


def _content(file: int, name: str, limit: int) -> bytes | UnfitFile:
    wrong = _check_file(file, name, limit)
    if wrong is not None:
        return wrong
    content = bytearray()
    while piece := os.read(file, _PIECE):
        content += piece
        if len(content) > limit:
            return UnfitFile(name=name, reason=f"grew beyond the {limit} bytes that one may have")
    return bytes(content)


def _copy_file(file: int, name: str, to: Path, limit: int, mode: int) -> UnfitFile | None:
    copied = 0
    with to.open("xb") as sink:
        while piece := os.read(file, _PIECE):
            copied += len(piece)
            if copied > limit:
                return UnfitFile(name=name, reason=f"grew beyond the {limit} bytes that one may have")
            sink.write(piece)
    to.chmod(mode)
    return None


def _describe_error(error: OSError) -> str:
    match error.errno:
        case 2:  # ENOENT
            return "is not there"
        case 40:  # ELOOP: O_NOFOLLOW met a link
            return "is a link"
        case 20:  # ENOTDIR, also for a link where a folder should be
            return "lies behind something that is no folder"
        case _:
            return f"cannot be read ({error.strerror})"


def remove_tree(path: Path) -> None:
    """Removes a folder that untrusted code wrote, of any depth and with any modes.

    Raises OSError if it cannot be removed.

    GNU's tools walk by descriptors and follow no links. Python's own walks are recursive.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    if os.geteuid() != 0:
        process.run(["chmod", "-R", "u+rwX", "--", str(path)], deadline=_REMOVAL_SECONDS)
    process.run(["rm", "-rf", "--one-file-system", "--", str(path)], deadline=_REMOVAL_SECONDS)
    if os.path.lexists(path):
        raise OSError(39, "cannot be removed", str(path))  # ENOTEMPTY


def disk_bytes(path: Path) -> int:
    """Returns the disk usage of a file or folder in bytes.

    Links are not followed; unreadable parts count as 0.

    The walk uses neither recursion nor joined paths: a tree of folders may be too deep for both.
    """
    try:
        about = path.lstat()
    except OSError:
        return 0
    total = about.st_blocks * 512
    if not stat.S_ISDIR(about.st_mode):
        return total
    with suppress(OSError):
        total += _bytes_below(os.open(path, _FOLDER))
    return total


def _bytes_below(top: int) -> int:
    """Returns the disk usage below a folder, and closes its descriptor.

    Descends by name and ascends by `..`, with one open descriptor. Nothing should write meanwhile. If a
    folder is moved all the same, only the sum is wrong.
    """
    total = 0
    here = top
    waiting: list[list[str]] = []
    try:
        total, folders = _one_folder(here)
        waiting.append(folders)
        while waiting:
            if waiting[-1]:
                try:
                    below = os.open(waiting[-1].pop(), _FOLDER, dir_fd=here)
                except OSError:
                    continue
                os.close(here)
                here = below
                size, folders = _one_folder(here)
                total += size
                waiting.append(folders)
                continue
            waiting.pop()
            if waiting:
                above = os.open("..", _FOLDER, dir_fd=here)
                os.close(here)
                here = above
    finally:
        os.close(here)
    return total


def _one_folder(descriptor: int) -> tuple[int, list[str]]:
    """Returns the disk usage of a folder's entries, and the names of its subfolders."""
    total = 0
    folders: list[str] = []
    with suppress(OSError), os.scandir(descriptor) as entries:
        for entry in entries:
            with suppress(OSError):
                about = entry.stat(follow_symlinks=False)
                total += about.st_blocks * 512
                if stat.S_ISDIR(about.st_mode):
                    folders.append(entry.name)
    return total, folders
