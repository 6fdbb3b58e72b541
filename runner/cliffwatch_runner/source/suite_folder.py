"""Packs a suite's folder into one archive to build its program from. Equal folders give equal bytes."""

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.counting import size_text
from cliffwatch.failure import Failure, wrong_usage

MOST_BYTES = 64 << 20
MOST_FILES = 5000
"""Limits of a suite's folder: they catch a whole tree named by mistake."""

_ELF = b"\x7fELF"
_LEFT_OUT = frozenset({".git", "suite.toml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFolder:
    """A folder as a tar archive."""

    archive: bytes
    digest: str
    """SHA-256 of the archive, hexadecimal."""


def pack_folder(folder: Path, *, made: Collection[str]) -> PackedFolder | Failure:
    """Packs a folder into one archive.

    It leaves out suite.toml, `.git`, and compiled programs among the files `made`, because the build makes
    these. The archive keeps names, contents, links and executable bits, but no times and no owners. Links are
    not followed.
    """
    packed = io.BytesIO()
    size = count = 0
    try:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in _walk(folder):
                name, about = str(path.relative_to(folder)), path.lstat()
                if name in made and _is_program(path, about):
                    continue
                size, count = size + about.st_size * stat.S_ISREG(about.st_mode), count + 1
                if size > MOST_BYTES or count > MOST_FILES:
                    return _too_much(folder)
                if not _add(archive, path, name, about):
                    return wrong_usage(
                        f"{path} is no file, folder or link", "take it out of the suite's folder"
                    )
    except OSError as error:
        return wrong_usage(
            f"the suite's folder {folder} cannot be read: {error}", "make its files readable to you"
        )
    content = packed.getvalue()
    return PackedFolder(archive=content, digest=hashlib.sha256(content).hexdigest())


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in _LEFT_OUT:
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)


def _is_program(path: Path, about: os.stat_result) -> bool:
    """True if a file is a compiled program; a script is not."""
    if not stat.S_ISREG(about.st_mode):
        return False
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF


def _add(archive: tarfile.TarFile, path: Path, name: str, about: os.stat_result) -> bool:
    """Adds a folder, a link or a file.

    Returns False for anything else, such as a pipe, and does not open it.
    """
    entry = tarfile.TarInfo(name)
    entry.mode = 0o755 if stat.S_ISDIR(about.st_mode) or about.st_mode & 0o100 else 0o644
    if stat.S_ISDIR(about.st_mode):
        entry.type = tarfile.DIRTYPE
        archive.addfile(entry)
    elif stat.S_ISLNK(about.st_mode):
        entry.type, entry.linkname = tarfile.SYMTYPE, str(path.readlink())
        archive.addfile(entry)
    elif stat.S_ISREG(about.st_mode):
        content = path.read_bytes()
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    else:
        return False
    return True


def _too_much(folder: Path) -> Failure:
    return wrong_usage(
        f"the suite's folder {folder} has more than {MOST_FILES} files or {size_text(MOST_BYTES)}",
        "keep in it only what its program is built from; give what the program reads with --data",
    )
