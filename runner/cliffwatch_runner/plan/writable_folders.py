"""The folders that a run writes and builds in, checked before anything is done: what fails after an hour of building is too late."""

import os
import pwd
import shlex
from pathlib import Path
from tempfile import TemporaryFile

from cliffwatch.failure import Failure

RESULTS_HOME = Path("cliffwatch-results")
"""Where results go that were given no folder."""

_FOLDERS = ("kernels", "benches", "programs", "worktrees", "locks", "failures", "ccaches", "mirror.git")


def open_cache(cache: Path) -> Failure | None:
    """Makes the cache where it is missing; a failure where this user cannot keep builds in it."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return Failure(
            whose="usage",
            message=f"the cache {cache} cannot be made: {error.strerror}",
            next_step="name a folder that you can write with --cache",
        )
    closed = next((path for path in (cache, *(cache / name for name in _FOLDERS)) if _is_closed(path)), None)
    return None if closed is None else not_ours(closed, cache)


def check_programs_run(cache: Path) -> Failure | None:
    """A failure where builds could not run what they have built. `cache` is there."""
    if runs_programs(cache):
        return None
    return Failure(
        whose="usage",
        message=f"the cache {cache} is on a file system that runs no programs (noexec), and a build runs tools that it has built there",
        next_step="name a folder on another one with --cache, or let it: sudo mount -o remount,exec "
        + shlex.quote(_mount_point(cache)),
    )


def runs_programs(cache: Path) -> bool:
    """Whether programs may be run where builds lie, or would lie."""
    worktrees = cache / "worktrees"
    return not os.statvfs(worktrees if worktrees.exists() else cache).f_flag & os.ST_NOEXEC


def _mount_point(folder: Path) -> str:
    resolved = folder.resolve()
    return str(next(path for path in (resolved, *resolved.parents) if path.is_mount()))


def check_results(out: Path) -> Failure | None:
    """A failure where this user cannot write results to `out`, which need not be there yet."""
    existing = next(path for path in (out, *out.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        why = "is no folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        why = _why_closed(existing)
    else:
        why = _why_refused(existing)
    if not why:
        return None
    return Failure(
        whose="usage",
        message=f"results cannot be written to {out}: {existing} {why}",
        next_step="name a folder that you can write with --out",
    )


def _why_refused(folder: Path) -> str:
    """Rights alone do not show it, of root least of all: a file is made that never has a name. Empty where it can be."""
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        return f"takes no files ({error.strerror})"
    return ""


def not_ours(path: Path, cache: Path) -> Failure:
    """What somebody reads whose cache holds something of another user."""
    ours = cache.is_dir() and cache.stat().st_uid == os.geteuid()
    take_back = f"sudo chown -R {owner_name(os.geteuid())} {shlex.quote(str(cache))}"
    return Failure(
        whose="usage",
        message=f"the cache {cache} cannot be used: {path} {_why_closed(path)}",
        next_step=f"{take_back}, or name another folder with --cache"
        if ours
        else "name a folder of yours with --cache",
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
        return f"cannot be looked at ({error.strerror})"
    if owner == os.geteuid():
        return "is not writable (read-only?)"
    return f"belongs to {owner_name(owner)}"


def owner_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
