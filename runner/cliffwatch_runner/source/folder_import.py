"""Imports a source folder into a mirror with git plumbing commands. Nothing in the folder configures git.

A repository nested in the folder is imported like any other folder. Every `.git` is left out.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch_runner import process
from cliffwatch_runner.source.git import write_git


def import_folder(path: Path, mirror: Path) -> str | Failure:
    """Imports all files and links of a folder. Returns the hash of their tree.

    Each folder keeps an index in the mirror, so only changed files are read again.
    """
    index = mirror / "imports" / hashlib.sha256(str(path).encode()).hexdigest()[:24]
    try:
        found = set(_files(path))
    except OSError as error:
        return wrong_usage(
            f"{error.filename} cannot be read: {error.strerror}", "make the folder readable to you"
        )
    written = _write_tree(path, found, mirror, index)
    if written.ok:
        return written.output.strip()
    return host_failed(
        f"{path} cannot be imported",
        "see to it that you may read all of its files, and that the cache's disk has space",
        written.output[-2000:],
    )


def _write_tree(path: Path, found: set[bytes], mirror: Path, index: Path) -> process.Finished:
    """Updates the index and writes its tree.

    A file beside the index lists the names that the index may contain.
    """
    index.parent.mkdir(exist_ok=True)
    listed = index.with_name(f"{index.name}.names")
    if not listed.exists():
        index.unlink(missing_ok=True)
    kept = set(filter(None, listed.read_bytes().split(b"\0"))) if listed.exists() else set()
    listed.write_bytes(b"\0".join(kept | found))
    for names, how in ((kept - found, ("--force-remove",)), (found, ("--add", "--replace"))):
        with tempfile.NamedTemporaryFile(prefix="cliffwatch-names-") as given:
            given.write(b"".join(name + b"\0" for name in sorted(names)))
            given.flush()
            words = ["update-index", *how, "-z", "--stdin"]
            written = _on_index(words, path, mirror, index, reading=Path(given.name))
        if not written.ok:
            return written
    return _on_index(["write-tree"], path, mirror, index)


def _files(folder: Path) -> Iterator[bytes]:
    """Yields the regular files and links below a folder, as git names them. Raises OSError."""
    top = os.fsencode(folder)
    for above, folders, names in os.walk(top, onerror=_raise_error):
        folders[:] = [name for name in folders if not _is_gits(name)]
        for name in (*names, *folders):  # links to folders are among the folders
            path = os.path.join(above, name)  # noqa: PTH118 - names of any bytes
            mode = os.lstat(path).st_mode
            if not _is_gits(name) and (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                yield os.path.relpath(path, top)


def _raise_error(error: OSError) -> None:
    raise error


def _is_gits(name: bytes) -> bool:
    return name.lower() == b".git"


def _on_index(
    words: Sequence[str], path: Path, mirror: Path, index: Path, *, reading: Path = Path("/dev/null")
) -> process.Finished:
    lock = index.with_name(f"{index.name}.writing")
    env = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(path)}
    return write_git(words, git_dir=mirror, lock=lock, cwd=path, env=env, reading=reading)
