"""One lock for all runs on a host: exclusive for walltime runs, shared by icount runs.

The lock is flock(2) on one file. The kernel releases it however its holder ends, so a leftover file locks
nothing. The file's text only names the holders, for those who wait. All users of the host must use the same
file, so it is in a world-writable folder. Anyone may have put a file of that name there: links are not
followed, and anything but a plain file is refused.
"""

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cliffwatch.failure import Failure, host_failed
from cliffwatch.samples import Mode
from cliffwatch_runner import clock

POLL_SECONDS = 1.0
LOCK_NAME = "cliffwatch-host.lock"

_LARGEST_TEXT = 1 << 16
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A holder of the lock, as it describes itself."""

    pid: int
    since: datetime
    """In UTC."""

    what: str
    """Name of the run, for people."""

    def __str__(self) -> str:
        return f"{self.what} (pid {self.pid}, since {self.since:%Y-%m-%d %H:%M:%S} UTC)"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLock:
    """The lock while it is held."""

    path: Path
    mode: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class LockState:
    """State of the lock as seen by others."""

    locked: bool
    holders: tuple[Holder, ...]
    """May be empty even if the lock is held, by a process that left no name."""


def lock_path(root: Path = Path("/")) -> Path:
    """Returns the host's lock file: in /run/lock if that is world-writable (Debian), else in /tmp.

    Chosen by the folder's permissions, so all users share one lock.
    """
    run_lock = root / "run/lock"
    open_to_all = run_lock.is_dir() and run_lock.stat().st_mode & stat.S_IWOTH
    return (run_lock if open_to_all else root / "tmp") / LOCK_NAME


@contextmanager
def host_lock(
    mode: Mode,
    *,
    what: str,
    waiting: Callable[[str], None],
    should_stop: Callable[[], bool],
    path: Path | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[HostLock | Failure]:
    """Waits for the host's lock, and holds it while the block runs. Yields a Failure if it cannot get it.

    `what` names this run to others (`icount run of 1a2b3c..4d5e6f`). `waiting` is called with a sentence on
    the holders, and again when they change. `should_stop` is polled every second while waiting.
    """
    file = path if path is not None else lock_path()
    descriptor = _open_lock_file(file)
    if isinstance(descriptor, Failure):
        yield descriptor
        return
    try:
        if not _wait_for_lock(descriptor, mode, waiting, should_stop, pause):
            yield host_failed(
                "Stopped while waiting for this host's lock.",
                "Start the run again; `cliffwatch doctor` shows who holds the lock.",
            )
            return
        holder = Holder(pid=os.getpid(), since=clock.now(), what=what)
        _sign_in(descriptor, holder, alone=mode == "walltime")
        try:
            yield HostLock(path=file, mode=mode)
        finally:
            _sign_out(descriptor, holder)
    finally:
        os.close(descriptor)


def lock_state(path: Path | None = None) -> LockState:
    """Returns whether the lock is held, and by whom."""
    file = path if path is not None else lock_path()
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return LockState(locked=False, holders=())
    try:
        locked = not _try_lock(descriptor, fcntl.LOCK_EX)
        return LockState(locked=locked, holders=_holders(descriptor) if locked else ())
    finally:
        os.close(descriptor)


def _wait_for_lock(
    descriptor: int,
    mode: Mode,
    waiting: Callable[[str], None],
    should_stop: Callable[[], bool],
    pause: Callable[[float], None],
) -> bool:
    operation = fcntl.LOCK_EX if mode == "walltime" else fcntl.LOCK_SH
    reported: str | None = None
    while not _try_lock(descriptor, operation):
        if should_stop():
            return False
        names = "; ".join(map(str, _holders(descriptor))) or "an unknown process"
        if names != reported:
            waiting(f"Waiting for this host's lock, in use by {names}")
            reported = names
        pause(POLL_SECONDS)
    return True


def _try_lock(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open_lock_file(path: Path) -> int | Failure:
    """Opens the lock file, and creates it if it is missing.

    If writing is not allowed, opens it for reading. That is enough to lock it, but not to name the holder.
    """
    try:
        descriptor = _existing_or_new(path)
    except OSError as error:
        if error.errno == errno.EROFS:
            return host_failed(
                f"This host's lock file {path} cannot be created: its folder is read-only.",
                f"Make {path.parent} writable; in a container: --tmpfs {path.parent}:mode=1777.",
            )
        return _unusable_lock_file(
            path,
            "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be opened: {error.strerror}",
        )
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1:
        os.close(descriptor)
        return _unusable_lock_file(path, "is not a plain file with one name")
    return descriptor


def _existing_or_new(path: Path) -> int:
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    # Opened without O_CREAT first: fs.protected_regular forbids that flag on another user's file in a sticky
    # folder.
    for access in (os.O_RDWR | os.O_APPEND, os.O_RDONLY):
        with suppress(FileNotFoundError, PermissionError):
            return os.open(path, access | flags)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | flags, 0o666)
    except FileExistsError:
        # Another run has just created it, or this user may not open it: the second try shows which.
        return os.open(path, os.O_RDONLY | flags)
    os.fchmod(descriptor, 0o666)
    return descriptor


def _unusable_lock_file(path: Path, why: str) -> Failure:
    return host_failed(
        f"This host's lock file {path} {why}.", f"Check what it is, then remove it: sudo rm {path}"
    )


def _sign_in(descriptor: int, holder: Holder, *, alone: bool) -> None:
    """Writes a line for this holder.

    If the file cannot be written, the lock still holds, but without a name.
    """
    with suppress(OSError):
        if alone:
            os.ftruncate(descriptor, 0)
        os.write(descriptor, _line(holder, signed_in=True))


def _sign_out(descriptor: int, holder: Holder) -> None:
    """Removes this holder from the text.

    If nobody else holds the lock, empties the file. Otherwise, appends a line with `held` false.

    Holders only append lines, each in one write, so that holders who share the lock do not overwrite each
    other.
    """
    with suppress(OSError):
        if _try_lock(descriptor, fcntl.LOCK_EX):
            os.ftruncate(descriptor, 0)
            return
        os.write(descriptor, _line(holder, signed_in=False))


def _line(holder: Holder, *, signed_in: bool) -> bytes:
    entry = {
        "held": signed_in,
        "pid": holder.pid,
        "since": holder.since.isoformat(),
        "what": holder.what[:_LONGEST_NAME],
    }
    return json.dumps(entry).encode() + b"\n"


def _holders(descriptor: int) -> tuple[Holder, ...]:
    """Returns the holders that signed in, did not sign out and are alive.

    The text is untrusted: invalid lines are skipped.
    """
    holders: dict[tuple[int, datetime], Holder] = {}
    for line in os.pread(descriptor, _LARGEST_TEXT, 0).splitlines():
        entry = _entry(line)
        if entry is None:
            continue
        signed_in, holder = entry
        if signed_in:
            holders[(holder.pid, holder.since)] = holder
            continue
        holders.pop((holder.pid, holder.since), None)
    return tuple(holder for holder in holders.values() if Path(f"/proc/{holder.pid}").exists())


def _entry(line: bytes) -> tuple[bool, Holder] | None:
    try:
        match json.loads(line):
            case {"held": bool(signed_in), "pid": int(pid), "since": str(since), "what": str(what)}:
                name = "".join(filter(str.isprintable, what))[:_LONGEST_NAME]
                return signed_in, Holder(pid=pid, since=datetime.fromisoformat(since), what=name)
    except (ValueError, RecursionError):
        return None
    return None
