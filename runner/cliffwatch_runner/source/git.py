"""Runs git on our own repositories or on none. `source.named_repository` reads repositories of others.

Calls that write to a shared repository come one after another (`write_git`). git locks a file by creating a
lock file beside it; a killed git leaves that file forever. So each of our writers also holds a flock(2) lock,
which ends with its holder. A git lock file met under the flock is
therefore not from one of our writers. It may still belong to a git that somebody else runs there: while such
a process lives, the writer waits for it.
"""

import errno
import fcntl
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from cliffwatch.trees.addresses import without_credentials
from cliffwatch.trees.git_command import git_argv, isolated_environment
from cliffwatch_runner import clock, process
from cliffwatch_runner.source.access import FetchPlan

_FETCHED = ("core.looseCompression=1",)
"""Compress loose objects: fetched content may be endless zeros."""

_AUTHOR = {
    "GIT_AUTHOR_NAME": "Cliffwatch",
    "GIT_AUTHOR_EMAIL": "cliffwatch@localhost",
    "GIT_AUTHOR_DATE": "1970-01-01T00:00:00+0000",
    "GIT_COMMITTER_NAME": "Cliffwatch",
    "GIT_COMMITTER_EMAIL": "cliffwatch@localhost",
    "GIT_COMMITTER_DATE": "1970-01-01T00:00:00+0000",
}
GitReader = Callable[[Sequence[str]], process.Finished]
"""Runs read-only git commands on one repository."""

_HOURS = 3600.0
_READABLE = ("sh", "-c", 'umask 022 && exec "$@"', "sh")
_HOLDING = ("sh", "-c", 'trap : TERM; input=$1; shift; "$@" <"$input"; exit $?', "sh")
"""Keeps a lock as its standard input until git has ended.

git itself does not inherit the lock: a process that git leaves running would keep it.
"""

_PATIENCE = 2 * 3600.0
"""Seconds after which one of our writers counts as stuck: no fetch takes that long."""

_OTHERS_PATIENCE = 600.0
"""Seconds to wait for somebody else's git, which may be waiting for a person."""

_POLL_SECONDS = 0.2
_AT_MOST = 100
_LOCK = re.compile(r"Unable to create '(?P<lock>/[^'\n]{1,4000}\.lock)': File exists")
_CONFIG = re.compile(r"could not lock config file (?P<file>/[^\n]{1,4000}): File exists")


def git(
    arguments: Sequence[str],
    *,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    fetching: FetchPlan | None = None,
    readable: bool = False,
    holding: int | None = None,
    on_output: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    reading: Path = Path("/dev/null"),
) -> process.Finished:
    """Runs git and returns how it ended. Only a call with `fetching` uses the network.

    - `readable`: other users may read the files that git writes, whatever our umask is.
    - `holding`: descriptor of a lock that stays taken until git has ended, even if this process ends first.
    - `reading`: file for standard input.
    - `on_output`, `should_stop`: see `process.run`.
    """
    called = git_argv(arguments, git_dir, (*fetching.settings, *_FETCHED) if fetching is not None else ())
    with ExitStack() as open_files:
        stdin = holding if holding is not None else open_files.enter_context(reading.open("rb")).fileno()
        ended = process.run(
            [
                *((*_HOLDING, str(reading)) if holding is not None else ()),
                *(_READABLE if readable else ()),
                *called,
            ],
            stdin=stdin,
            cwd=cwd,
            env=git_environment(fetching) | dict(env or {}),
            on_output=on_output,
            should_stop=should_stop,
            deadline=2 * _HOURS,
            keep=8 << 20,
        )
    return ended if fetching is None else replace(ended, output=without_credentials(ended.output))


def git_environment(fetching: FetchPlan | None = None) -> dict[str, str]:
    """Returns the complete environment of a git call."""
    named = isolated_environment() if fetching is None else dict(fetching.env)
    return {"PATH": os.environ.get("PATH", os.defpath), **named, **_AUTHOR}


def write_git(
    arguments: Sequence[str],
    *,
    git_dir: Path,
    lock: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    fetching: FetchPlan | None = None,
    readable: bool = False,
    reading: Path = Path("/dev/null"),
) -> process.Finished:
    """Runs `git` while holding `lock`, so that no other run writes.

    Raises OSError if the lock cannot be taken.

    `lock` is that of an index; None means the lock of the repository's refs. A child process keeps the lock
    until git ends, even if this process is killed first.
    """
    with _lock_file(lock or git_dir / "cliffwatch-writing") as descriptor:
        until = clock.monotonic() + _OTHERS_PATIENCE
        for _ in range(_AT_MOST):
            ended = git(
                arguments,
                git_dir=git_dir,
                cwd=cwd,
                env=env,
                fetching=fetching,
                readable=readable,
                holding=descriptor,
                reading=reading,
            )
            left = None if ended.ok else _find_blocking_lock(ended.output, git_dir)
            if left is None:
                return ended
            while (holder := _find_holder(left, git_dir)) is not None:
                if clock.monotonic() > until:
                    return replace(ended, output=f"{holder} writes to {git_dir}\n{ended.output}")
                clock.pause(_POLL_SECONDS)
            left.unlink(missing_ok=True)
        return ended


@contextmanager
def _lock_file(path: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        until = clock.monotonic() + _PATIENCE
        while not _try_lock(descriptor):
            if clock.monotonic() > until:
                raise OSError(errno.ETIMEDOUT, "another run has been writing there for hours", str(path))
            clock.pause(_POLL_SECONDS)
        yield descriptor
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _find_blocking_lock(output: str, git_dir: Path) -> Path | None:
    """Returns the lock file of this repository that stopped git; None if no such file is named.

    The output may also quote a server, so no file outside the repository is returned.
    """
    named = [match["lock"] for match in _LOCK.finditer(output)]
    named += [f"{match['file']}.lock" for match in _CONFIG.finditer(output)]
    for each in named:
        path = Path(each)
        if path.resolve().is_relative_to(git_dir.resolve()) or _is_index(path, git_dir):
            return path
    return None


def _is_index(path: Path, git_dir: Path) -> bool:
    """True if the lock belongs to the index of one of our worktrees, which are beside the mirror."""
    return path.name == "index.lock" and path.resolve().is_relative_to(git_dir.resolve().parent)


def _find_holder(lock: Path, git_dir: Path) -> str | None:
    """Returns the name and pid of a process that may hold the lock; None if there is none.

    A holder has the lock file open. git closes some lock files before it releases them; for these, any git
    process that works on this repository counts.
    """
    try:
        about = lock.lstat()
    except FileNotFoundError:
        return None
    others = [folder for folder in process.process_folders() if folder.name != str(os.getpid())]
    for folder in others:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if _has_open(folder, about):
                return f"{_process_name(folder)} (pid {folder.name})"
    for folder in others if lock.name != "index.lock" else ():
        with suppress(FileNotFoundError, ProcessLookupError):
            if _is_git_of(folder, git_dir, about.st_uid):
                return f"{_process_name(folder)} (pid {folder.name})"
    return None


def _has_open(folder: Path, about: os.stat_result) -> bool:
    try:
        for entry in (folder / "fd").iterdir():
            with suppress(FileNotFoundError):
                if os.path.samestat(about, entry.stat()):
                    return True
    except PermissionError:
        pass
    return False


def _is_git_of(folder: Path, git_dir: Path, owner: int) -> bool:
    """True if a process is a git that names the repository or runs in it.

    A git of the lock's owner counts too if it may not be inspected.
    """
    if not _process_name(folder).startswith("git"):
        return False
    try:
        cwd = (folder / "cwd").readlink()
    except PermissionError:
        return folder.stat().st_uid == owner
    arguments = (folder / "cmdline").read_bytes().split(b"\0")
    named = [cwd / os.fsdecode(argument.rpartition(b"=")[2]) for argument in arguments]
    return any(path.is_relative_to(git_dir.resolve()) for path in (cwd, *named))


def _process_name(folder: Path) -> str:
    return (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
