"""Reads repositories on this host that somebody named, through a view: a git directory of our own.

The settings of a repository name programs: ssh, hooks, filters, a file system monitor, signers and diff
viewers. So git never reads them. It gets a folder with links to the repository's objects and refs, and with
our settings, hooks and attributes only. Missing objects are never fetched, because the repository's settings
would say where from and how.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cliffwatch_runner import process
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile, UntrustedFolder
from cliffwatch_runner.source.git import GitReader, git

_SETTINGS = """[core]
\trepositoryformatversion = {version}
\tbare = true
[uploadpack]
\tallowAnySHA1InWant = true
"""
_REFTABLE = "[extensions]\n\trefStorage = reftable\n"
_LARGEST_BYTES = 1 << 20
_MOST_NAMES = 1000
_LONGEST_PATH = 5000
_HEAD = re.compile(r"[A-Z][A-Z_]{0,40}HEAD|HEAD")
_GIT_DIR = "gitdir:"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRepository:
    """A git repository on this host. `own` and `shared` differ in a linked worktree."""

    own: Path
    """Git directory of the worktree, with its HEAD."""
    shared: Path
    """Git directory with the objects and refs that all worktrees share."""
    top: Path | None
    """Top folder of the worktree; None for a bare repository."""

    @property
    def is_partial(self) -> bool:
        """True if it may lack objects that git would fetch on demand."""
        return next((self.shared / "objects" / "pack").glob("*.promisor"), None) is not None


def find_repository(path: Path) -> NamedRepository | None:
    """Returns the repository at a folder or above it; None if there is none.

    A repository above the folder counts only if the folder's owner or this user owns it: somebody else could
    have planted it.
    """
    path = path.expanduser().resolve()
    for folder in (path, *path.parents):
        found = _repository(folder / ".git", top=folder) or _repository(folder, top=None)
        if found is not None and (folder == path or _is_owned_alike(found.own, path)):
            return found
    return None


def read_repository(path: Path, arguments: Sequence[str]) -> process.Finished:
    """Runs a read-only git command on the repository at a path."""
    with repository_reader(path) as read:
        return read(arguments)


@contextmanager
def repository_reader(path: Path) -> Iterator[GitReader]:
    """Yields a function that runs read-only git commands on the repository at a path."""
    found = find_repository(path)
    if found is None:
        yield git
        return
    with repository_view(found) as view:
        yield partial(git, git_dir=view)


@contextmanager
def repository_view(repository: NamedRepository) -> Iterator[Path]:
    """Yields a git directory through which a repository can be read. It is removed when the block ends."""
    with tempfile.TemporaryDirectory(prefix="cliffwatch-view-") as temporary:
        view = Path(temporary)
        own, shared = repository.own, repository.shared
        for name in UntrustedFolder(own).names("", limit=_MOST_NAMES):
            if _HEAD.fullmatch(name) and (text := _text(own, name, limit=_LARGEST_BYTES)) is not None:
                (view / name).write_text(text, encoding="utf-8", errors="surrogateescape")
        for name in ("objects", "packed-refs", "shallow", "reftable"):
            if (shared / name).exists():
                (view / name).symlink_to(shared / name)
        _link_folder(view / "refs", shared / "refs", own / "refs")
        _link_folder(view / "logs", shared / "logs", own / "logs")
        is_reftable = (shared / "reftable").is_dir()
        settings = _SETTINGS.format(version=int(is_reftable)) + _REFTABLE * is_reftable
        (view / "config").write_text(settings)
        yield view


def _repository(folder: Path, *, top: Path | None) -> NamedRepository | None:
    """Returns the repository whose git directory is `folder`, or is named by the file `folder`."""
    own = folder
    with suppress(OSError):
        if top is not None and folder.is_file():
            text = _text(folder.parent, folder.name, limit=_LONGEST_PATH) or ""
            if not text.startswith(_GIT_DIR):
                return None
            own = folder.parent / text.removeprefix(_GIT_DIR).strip()
        shared = own / (_text(own, "commondir", limit=_LONGEST_PATH) or "").strip()
        if (own / "HEAD").is_file() and (shared / "objects").is_dir() and (shared / "refs").is_dir():
            return NamedRepository(own=own.resolve(), shared=shared.resolve(), top=top)
    return None


def _is_owned_alike(found: Path, path: Path) -> bool:
    return found.stat().st_uid in (path.stat().st_uid, os.geteuid())


def _text(folder: Path, name: str, *, limit: int) -> str | None:
    content = UntrustedFolder(folder).read(name, limit=limit)
    return None if isinstance(content, UnfitFile) else content.decode(errors="surrogateescape")


def _link_folder(folder: Path, *sources: Path) -> None:
    """Creates a folder with links to the entries of several folders.

    For a name in several, the first folder wins.
    """
    folder.mkdir()
    for source in sources:
        for name in UntrustedFolder(source).names("", limit=_MOST_NAMES):
            with suppress(FileExistsError):
                (folder / name).symlink_to(source / name)
