"""The journal of a tuned host. It holds the old values, so that the changes of a killed run can be undone.

It is written before anything is changed. Restoring writes to /sys as root, so the journal is trusted only if
root or the current user owns it, and only for the files that Cliffwatch tunes.
"""

import json
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Protocol, get_args

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner import clock, process
from cliffwatch_runner.host.facts import read_word
from cliffwatch_runner.host.knobs import KNOB_FILES, SEE_DOCTOR, SERVICES, Form, is_same_value, write_value

JOURNAL = Path("/var/lib/cliffwatch/host-tuning.json")
"""There is one per host, because only root tunes it."""

FORMAT_VERSION = 1

_BOOT_ID = "proc/sys/kernel/random/boot_id"
_LARGEST = 8 << 20
_SYSTEMCTL_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One old value."""

    name: str
    """Name of the knob."""

    target: str
    """Path relative to the root, or the name of a service."""

    old: str
    """Old value; `active` for a service."""

    form: Form | Literal["service"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The values of a host before a run changed them."""

    boot_id: str | None
    """The host's boot id, which shows whether it was rebooted since; None if the host does not show it."""

    pid: int
    """Process that wrote the journal."""

    written: str
    """Time in ISO format."""

    entries: tuple[JournalEntry, ...]
    """In the order of the changes."""


_CHECK_IT = "check it, then remove it"


class Services(Protocol):
    """Starts and stops services."""

    def active(self, name: str) -> bool: ...
    def start(self, name: str) -> Failure | None: ...
    def stop(self, name: str) -> Failure | None: ...


class Systemctl:
    """Services of systemd. On a host without systemd, none is active."""

    def active(self, name: str) -> bool:
        try:
            return process.run(["systemctl", "is-active", "--quiet", name], deadline=_SYSTEMCTL_SECONDS).ok
        except FileNotFoundError:
            return False

    def start(self, name: str) -> Failure | None:
        return self._asked("start", name)

    def stop(self, name: str) -> Failure | None:
        return self._asked("stop", name)

    def _asked(self, verb: str, name: str) -> Failure | None:
        try:
            ended = process.run(["systemctl", verb, name], deadline=_SYSTEMCTL_SECONDS)
        except FileNotFoundError:
            return host_failed("systemctl is not installed", f"{verb} {name} yourself")
        if ended.ok:
            return None
        return host_failed(
            ended.output.strip() or f"systemctl {verb} ended with status {ended.status}",
            f"see `systemctl status {name}`",
        )


def write_journal(path: Path, root: Path, entries: Iterable[JournalEntry]) -> None:
    """Writes the journal atomically and syncs it to disk. Raises OSError if it cannot be written."""
    journal = Journal(
        boot_id=read_word(root / _BOOT_ID),
        pid=os.getpid(),
        written=clock.now().isoformat(),
        entries=tuple(entries),
    )
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True)
        path.parent.chmod(0o755)
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(descriptor, 0o644)  # every user's doctor must be able to read it, whatever the umask
        json.dump({"format_version": FORMAT_VERSION, **asdict(journal)}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_journal(path: Path) -> Journal | Failure | None:
    """Reads the journal; None if there is none. A failure says why it cannot be trusted."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        return host_failed(f"it cannot be opened: {error.strerror}", _CHECK_IT)
    try:
        about = os.fstat(descriptor)
        if (
            not stat.S_ISREG(about.st_mode)
            or about.st_uid not in {0, os.geteuid()}
            or about.st_mode & stat.S_IWOTH
        ):
            return host_failed(
                "it is not a plain file that only its owner, root or this user, can write", _CHECK_IT
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            text = file.read(_LARGEST)
    finally:
        os.close(descriptor)
    try:
        return _parse_journal(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError):
        return host_failed("it is not a tuning journal of this version", _CHECK_IT)


def _parse_journal(raw: dict[str, object]) -> Journal:
    match raw:
        case {
            "format_version": 1,
            "boot_id": str() | None as boot_id,
            "pid": int(pid),
            "written": str(written),
            "entries": list(entries),
        }:
            parsed = tuple(JournalEntry(**entry) for entry in entries)
            if all(map(_is_believable, parsed)):
                return Journal(boot_id=boot_id, pid=pid, written=written, entries=parsed)
    raise ValueError("not a journal of this version")


def _is_believable(entry: JournalEntry) -> bool:
    if not all(isinstance(text, str) for text in (entry.name, entry.target, entry.old)):
        return False
    if entry.form == "service":
        return entry.target in SERVICES
    return entry.form in get_args(Form) and KNOB_FILES.fullmatch(entry.target) is not None


def restore_from_journal(
    journal: Path, root: Path = Path("/"), services: Services | None = None
) -> tuple[str, ...]:
    """Restores the values in the journal, last change first. Returns a sentence for each value that failed.

    Those values stay in the journal; once none is left, the journal is removed. If the host was rebooted, it
    already has its own values, and the journal is only removed. Call it under the exclusive host lock,
    because the journal of a run that is still measuring must not be restored.
    """
    leftover = read_journal(journal)
    if leftover is None:
        return ()
    if isinstance(leftover, Failure):
        return (f"The tuning journal {journal} was not used: {leftover}.",)
    if leftover.boot_id != read_word(root / _BOOT_ID):
        return _remove_journal(journal)
    started = services if services is not None else Systemctl()
    problems: list[str] = []
    left: list[JournalEntry] = []
    for entry in reversed(leftover.entries):
        failure = _restore_value(entry, root, started.start)
        if failure is not None:
            problems.append(
                f"{entry.name} ({entry.target}) could not be set back to {entry.old}: {failure.message}."
            )
            left.insert(0, entry)
    if not left:
        return _remove_journal(journal)
    if len(left) < len(leftover.entries):
        with suppress(OSError):  # the values restored have no effect in the old journal, which stays
            write_journal(journal, root, left)
    return tuple(problems)


def _remove_journal(journal: Path) -> tuple[str, ...]:
    try:
        journal.unlink(missing_ok=True)
    except OSError as error:
        return (f"The tuning journal {journal} could not be removed: {error.strerror}. Remove it as root.",)
    return ()


def _restore_value(entry: JournalEntry, root: Path, start: Callable[[str], Failure | None]) -> Failure | None:
    """Restores one value. A file that is gone (of an offline CPU) needs nothing."""
    if entry.form == "service":
        return start(entry.target)
    path = root / entry.target
    current = read_word(path)
    if current is None or is_same_value(current, entry.old, entry.form):
        return None
    failure = write_value(path, entry.old)
    if failure is not None:
        return failure
    after = read_word(path)
    if after is not None and is_same_value(after, entry.old, entry.form):
        return None
    return host_failed(f"it reads {after}", SEE_DOCTOR)
