"""Checks the folders that a run writes and builds in, before an hour of building is wasted."""

import os
import pwd
import shlex
from pathlib import Path
from tempfile import TemporaryFile

from cliffwatch.failure import Failure, wrong_usage

RESULTS_HOME = Path("cliffwatch-results")
"""Folder for results without --out."""

_FOLDERS = ("kernels", "benches", "programs", "worktrees", "locks", "failures", "ccaches", "mirror.git")


def open_cache(cache: Path) -> Failure | None:
    """Creates the cache if it is missing. Returns a failure if this user cannot write to it."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return wrong_usage(
            f"the cache {cache} cannot be created: {error.strerror}",
            "name a folder that you can write with --cache",
        )
    closed = next((path for path in (cache, *(cache / name for name in _FOLDERS)) if _is_closed(path)), None)
    return None if closed is None else foreign_owner_failure(closed, cache)


def check_programs_run(cache: Path) -> Failure | None:
    """Returns a failure if builds cannot run the programs that they build. `cache` must exist."""
    if runs_programs(cache):
        return None
    return wrong_usage(
        (
            f"the cache {cache} is on a file system that runs no programs (noexec), "
            "and a build runs tools that it has built there"
        ),
        "name a folder on another file system with --cache, "
        "or remount this one: sudo mount -o remount,exec " + shlex.quote(_mount_point(cache)),
    )


def runs_programs(cache: Path) -> bool:
    """True if the file system of the builds allows programs to run."""
    worktrees = cache / "worktrees"
    return not os.statvfs(worktrees if worktrees.exists() else cache).f_flag & os.ST_NOEXEC


def _mount_point(folder: Path) -> str:
    resolved = folder.resolve()
    return str(next(path for path in (resolved, *resolved.parents) if path.is_mount()))


def check_results(out: Path) -> Failure | None:
    """Returns a failure if this user cannot write results to `out`. `out` need not exist yet."""
    existing = next(path for path in (out, *out.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        why = "is not a folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        why = _why_closed(existing)
    else:
        why = _why_refused(existing)
    if not why:
        return None
    return wrong_usage(
        f"results cannot be written to {out}: {existing} {why}", "name a folder that you can write with --out"
    )


def _why_refused(folder: Path) -> str:
    """Returns why the folder takes no files, or an empty string.

    Permissions alone do not show it, least of all for root, so this creates a nameless file.
    """
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        return f"takes no files ({error.strerror})"
    return ""


def foreign_owner_failure(path: Path, cache: Path) -> Failure:
    """Returns the failure for a cache that holds files of another user."""
    ours = cache.is_dir() and cache.stat().st_uid == os.geteuid()
    take_back = f"sudo chown -R {owner_name(os.geteuid())} {shlex.quote(str(cache))}"
    return wrong_usage(
        f"the cache {cache} cannot be used: {path} {_why_closed(path)}",
        f"{take_back}, or name another folder with --cache"
        if ours
        else "name a folder of your own with --cache",
    )


def _is_closed(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return not os.access(path, os.R_OK | os.W_OK | os.X_OK)


def _why_closed(path: Path) -> str:
    try:
        owner = path.lstat().st_uid
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if owner == os.geteuid():
        return "is not writable (read-only?)"
    return f"belongs to {owner_name(owner)}"


def owner_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
