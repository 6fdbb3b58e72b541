"""The worktrees of the cache: one per toolchain and trust, and one per build of a tree from outside.

worktrees/NAME/
    lock, index*, steps, *.log  used by the host only, out of reach of builds
    distrusted                  a build left something unfit in its output; the next use removes the output
    source/                     written by git only, read by builds
    output/                     written by builds; the host never opens a path in it
    ccache/                     only in a worktree for a single build
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cliffwatch_runner.build.cache.entries import hold_lock
from cliffwatch_runner.build.cache.uses import MARK, remove_unused
from cliffwatch_runner.build.worktree import DISTRUSTED, BuildSettings, Worktree
from cliffwatch_runner.sandbox.untrusted_files import remove_tree
from cliffwatch_runner.source.access import Trust

_FOR_ONE_BUILD = "outside-"


@contextmanager
def lock_worktree(name: str, settings: BuildSettings, given: Path) -> Iterator[Worktree]:
    """Holds a worktree: for a tree from outside a new one that is removed afterwards, else the shared one.

    If another process builds in the shared worktree, waits and reports that. Raises Stopped.
    """
    given.chmod(0o755)
    for path in given.iterdir():
        path.chmod(0o644)
    folders = (
        _single_use_folders(settings) if settings.trust == "outside" else _shared_folders(name, settings)
    )
    with folders as (folder, ccache):
        for each in (folder / "source", folder / "output", ccache):
            each.mkdir(parents=True, exist_ok=True)
            each.chmod(0o755)
        for each in (folder / "output", ccache):
            settings.sandbox.give(each)
        worktree = Worktree(folder, ccache, given, settings)
        try:
            yield worktree
        finally:
            worktree.discard()


@contextmanager
def _shared_folders(name: str, settings: BuildSettings) -> Iterator[tuple[Path, Path]]:
    sandbox = settings.sandbox
    user = "" if sandbox.user is None else str(sandbox.user.uid)
    parts = (name, settings.trust, sandbox.level, sandbox.image or "", user)
    folder = settings.cache / "worktrees" / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    ccache = settings.cache / "ccaches" / settings.trust
    settings.uses.take(ccache, make=True)

    def waiting() -> None:
        settings.report_progress(None, "waiting for another build in the same worktree")

    with hold_lock(folder / "lock", waiting=waiting, should_stop=settings.should_stop):
        (folder / MARK).touch()
        for left in folder.glob("scratch-*"):
            remove_tree(left)
        if (folder / DISTRUSTED).exists():
            remove_tree(folder / "output")
            (folder / DISTRUSTED).unlink()
        yield folder, ccache / "files"


@contextmanager
def build_folder(cache: Path, trust: Trust, should_stop: Callable[[], bool]) -> Iterator[Path]:
    """Yields the folder for everything that a run builds.

    This is the cache. For trees from outside it is a folder that is removed after the run, so that nobody
    else uses its contents. Raises Stopped.
    """
    if trust != "outside":
        yield cache
        return
    with _single_use_folder(cache, should_stop) as folder:
        folder.chmod(0o755)
        yield folder


@contextmanager
def _single_use_folders(settings: BuildSettings) -> Iterator[tuple[Path, Path]]:
    """Yields the folders of a worktree for one build, and of its ccache."""
    with _single_use_folder(settings.cache, settings.should_stop) as folder:
        yield folder, folder / "ccache"


@contextmanager
def _single_use_folder(cache: Path, should_stop: Callable[[], bool]) -> Iterator[Path]:
    """Yields a folder that is removed when the block ends.

    First removes such folders of killed processes, which hold their locks no longer.
    """
    worktrees = cache / "worktrees"
    worktrees.mkdir(parents=True, exist_ok=True)
    for left in worktrees.glob(f"{_FOR_ONE_BUILD}*"):
        with suppress(OSError):
            remove_unused(left, "lock")
    folder = Path(tempfile.mkdtemp(prefix=_FOR_ONE_BUILD, dir=worktrees))
    with hold_lock(folder / "lock", waiting=lambda: None, should_stop=should_stop):
        (folder / MARK).touch()
        try:
            yield folder
        finally:
            remove_tree(folder)
