"""A suite's folder as one archive, from which its program is built: equal folders give equal bytes, wherever
they lie.
"""

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
"""Of a suite's folder: who names a whole tree by mistake is told so."""

_ELF = b"\x7fELF"
_LEFT_OUT = frozenset({".git", "suite.toml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFolder:
    """The tar archive of a folder, and its digest."""

    archive: bytes
    digest: str


def pack_folder(folder: Path, *, made: Collection[str]) -> PackedFolder | Failure:
    """All files of a folder but suite.toml, .git and, of the files `made`, programs: the build makes them
    anew.

    Names, contents, links and what may be executed: no times and no owners. A link stays a link.
    """
    packed = io.BytesIO()
    size = count = 0
    try:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in _below(folder):
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


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in _LEFT_OUT:
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)


def _is_program(path: Path, about: os.stat_result) -> bool:
    """Whether a file is what a compiler makes; a script is none."""
    if not stat.S_ISREG(about.st_mode):
        return False
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF


def _add(archive: tarfile.TarFile, path: Path, name: str, about: os.stat_result) -> bool:
    """Adds a folder, a link or a file; False of anything else, such as a pipe, which is not opened."""
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
