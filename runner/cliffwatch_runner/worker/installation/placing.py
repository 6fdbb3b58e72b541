"""Reads, writes and removes files of the host without following a link anywhere on the path.

A file gets its name once it is complete. Folders on the path must belong to root or the caller and must not
be writable by everyone, so that nobody can replace them.
"""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LARGEST = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """An existing file."""

    content: bytes
    mode: int


def read_file(root: Path, path: Path) -> FoundFile | None:
    """Reads the file at `path` below `root`; None if there is none.

    Raises OSError unless it is a regular file with one link.
    """
    try:
        with _folder_of(root, path) as folder:
            descriptor = os.open(
                path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
            )
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1 or about.st_size > _LARGEST:
            raise OSError(errno.EINVAL, "it is not a regular file with one name", str(path))
        return FoundFile(content=file.read(), mode=stat.S_IMODE(about.st_mode))


def put_file(root: Path, path: Path, content: bytes, mode: int) -> None:
    """Writes the file and creates missing folders on the path. Raises OSError."""
    with _folder_of(root, path, make=True) as folder:
        temporary = f".{path.name}.{secrets.token_hex(6)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)


def take_file_away(root: Path, path: Path) -> None:
    """Removes the file if it exists. Raises OSError."""
    with suppress(FileNotFoundError), _folder_of(root, path) as folder:
        os.unlink(path.name, dir_fd=folder)


def take_folder_away(root: Path, path: Path) -> bool:
    """Removes the folder and its contents; False if there is none. Raises OSError, also for a link."""
    try:
        with _folder_of(root, path) as folder:
            shutil.rmtree(path.name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def take_empty_folder_away(root: Path, path: Path) -> None:
    """Removes the folder if it exists and is empty."""
    with suppress(OSError), _folder_of(root, path) as folder:
        os.rmdir(path.name, dir_fd=folder)


@contextmanager
def _folder_of(root: Path, path: Path, *, make: bool = False) -> Iterator[int]:
    """Opens the folder that contains `path` and yields its descriptor."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in path.relative_to("/").parts[:-1]:
            inner = _inner(descriptor, name, path, make=make)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _inner(folder: int, name: str, path: Path, *, make: bool) -> int:
    try:
        inner = os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
        os.mkdir(name, 0o755, dir_fd=folder)
        inner = os.open(name, _FOLDER, dir_fd=folder)
        os.fchmod(inner, 0o755)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(
                errno.ENOTDIR, f"{name} on the way to it is a link or not a folder", str(path)
            ) from None
        raise
    about = os.fstat(inner)
    if about.st_uid not in (0, os.geteuid()) or about.st_mode & stat.S_IWOTH:
        os.close(inner)
        raise OSError(errno.EPERM, f"others can change the folder {name} on the way to it", str(path))
    return inner
