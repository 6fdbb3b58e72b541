"""Control groups of sandboxes (cgroup v2 or v1), created below our own if a trial shows that we may.

The kernel then enforces the limits on every process of a sandbox, and the whole group can be killed.
"""

import os
import secrets
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cliffwatch_runner import clock, process

_PREFIX = "cliffwatch-"
_CONTROLLERS = ("memory", "pids")
_USAGE = ("memory.current", "memory.usage_in_bytes")
_SECONDS = 20.0
_PAUSE = 0.02

_JOIN = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift; exec "$@"'
"""Writing 0 adds the writer.

The shell joins the group before it starts the command, so no process is ever outside.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlGroup:
    """The control group of one sandbox: one folder in v2, one per controller in v1."""

    memory: Path
    pids: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((self.memory, self.pids)))

    def argv(self, command: Sequence[str]) -> list[str]:
        """Returns the command started in this group."""
        doors = [str(folder / "cgroup.procs") for folder in self.folders]
        return ["sh", "-c", _JOIN, "sh", *doors, "--", *command]

    def passed(self) -> Literal["memory", "processes"] | None:
        """Returns the limit that the kernel had to enforce; None if it enforced none.

        The number of processes comes first: what a refused fork had allocated stays charged to the group
        until the kernel frees it, so a bomb that is slow to die reaches the memory limit too.
        """
        if _count(self.pids / "pids.events", "max"):
            return "processes"
        events = ("memory.events", "memory.oom_control")
        return "memory" if any(_count(self.memory / name, "oom_kill") for name in events) else None

    def memory_used(self) -> int:
        """Returns the group's memory use in bytes, including in-memory file systems and page cache."""
        return next(
            (int(_words(self.memory / name)[0]) for name in _USAGE if (self.memory / name).exists()), 0
        )

    def kill(self) -> None:
        """Kills every process in the group and prevents new ones."""
        _try_write(self.pids / "pids.max", "0")
        _try_write(self.memory / "cgroup.kill", "1")  # v2 since 5.14
        until = clock.monotonic() + _SECONDS
        while (members := _members(self.pids)) and clock.monotonic() < until:
            for member in members:
                self._kill_member(member)
            clock.pause(_PAUSE)

    def remove(self) -> None:
        """Removes the empty group. The kernel may take a moment to notice that it is empty."""
        until = clock.monotonic() + _SECONDS
        for folder in self.folders:
            while not _remove_group(folder) and clock.monotonic() < until:
                clock.pause(_PAUSE)

    def _kill_member(self, number: int) -> None:
        """Kills a process through a pidfd, so that a reused pid cannot hit another process."""
        try:
            descriptor = os.pidfd_open(number)
        except OSError:
            return
        try:
            if number in _members(self.pids):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        except OSError:
            return
        finally:
            os.close(descriptor)


def make_group(memory_bytes: int, processes: int, proc: Path = Path("/proc/self")) -> ControlGroup | None:
    """Creates a group with these limits; None if this process may not create it or move processes into it."""
    for memory, pids in _parents(proc):
        _remove_leftovers({memory, pids})
        name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        group = ControlGroup(memory=memory / name, pids=pids / name)
        if _make_group(group, memory_bytes, processes):
            return group
        group.remove()
    return None


def _make_group(group: ControlGroup, memory_bytes: int, processes: int) -> bool:
    try:
        for folder in group.folders:
            folder.mkdir()
    except OSError:
        return False
    limited = _try_write(group.memory / "memory.max", str(memory_bytes)) or _try_write(
        group.memory / "memory.limit_in_bytes", str(memory_bytes)
    )
    # Swap is memory too; a kernel without swap has no such files.
    _try_write(group.memory / "memory.swap.max", "0")
    _try_write(group.memory / "memory.memsw.limit_in_bytes", str(memory_bytes))
    _try_write(group.memory / "memory.oom.group", "1")
    if not limited or not _try_write(group.pids / "pids.max", str(processes)):
        return False
    try:
        return process.run(group.argv(["true"]), deadline=_SECONDS).ok
    except OSError:
        return False


def _parents(proc: Path) -> Iterator[tuple[Path, Path]]:
    """Yields folders in which groups may be created, as pairs for memory and processes."""
    own = _own_folders(proc)
    unified = own.get("")
    # In v2 only a group without processes of its own hands controllers down: a sibling of ours is often what
    # can be made.
    for parent in () if unified is None else (unified, unified.parent):
        if _has_controllers(parent):
            yield parent, parent
    if all(name in own for name in _CONTROLLERS):
        yield own["memory"], own["pids"]


def _has_controllers(parent: Path) -> bool:
    """True if groups below `parent` can limit memory and processes. Enables the controllers if needed."""
    handed = parent / "cgroup.subtree_control"
    if not os.access(parent / "cgroup.procs", os.W_OK) or not os.access(handed, os.W_OK):
        return False
    if not set(_CONTROLLERS) <= set(_words(handed)):
        _try_write(handed, " ".join(f"+{name}" for name in _CONTROLLERS))
    return set(_CONTROLLERS) <= set(_words(handed))


def _own_folders(proc: Path) -> dict[str, Path]:
    """Returns our own group's folder by v1 controller; the empty name stands for v2."""
    own = {}
    for line in _lines(proc / "cgroup"):
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    folders: dict[str, Path] = {}
    for line in _lines(proc / "mountinfo"):
        fields = line.split()
        dash = fields.index("-")
        kind, options = fields[dash + 1], fields[dash + 3].split(",")
        for name in [""] if kind == "cgroup2" else options if kind == "cgroup" else []:
            if name in own and (own[name] + "/").startswith(fields[3].rstrip("/") + "/"):
                inside = own[name][len(fields[3].rstrip("/")) :]
                folders.setdefault(name, Path(fields[4] + inside))
    return folders


def _remove_leftovers(parents: set[Path]) -> None:
    """Removes the groups of killed runs. They are empty, because bubblewrap's processes end with the run."""
    for parent in parents:
        for folder in parent.glob(f"{_PREFIX}*-*"):
            owner = folder.name.removeprefix(_PREFIX).split("-")[0]
            if owner.isdigit() and not Path("/proc", owner).exists():
                _remove_group(folder)


def _remove_group(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        # A read-only file system (version 1 in a container) refuses to remove what is not there, too.
        return not folder.exists()
    return True


def _members(folder: Path) -> list[int]:
    return [int(line) for line in _lines(folder / "cgroup.procs")]


def _count(path: Path, name: str) -> int:
    return next((int(line.split()[1]) for line in _lines(path) if line.startswith(f"{name} ")), 0)


def _words(path: Path) -> list[str]:
    return [word for line in _lines(path) for word in line.split()]


def _lines(path: Path) -> list[str]:
    with suppress(OSError):
        return path.read_text().splitlines()
    return []


def _try_write(path: Path, text: str) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(descriptor, text.encode())
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
