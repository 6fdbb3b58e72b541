"""Control groups of sandboxes, in cgroup v2 or v1: made below our own wherever a trial shows that this
process may.

The kernel itself then holds everything that a sandbox starts to the limits, and a group can be ended
whole.
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
"""0 is whoever writes: the group is joined before the command is, so that nothing of it is ever outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlGroup:
    """The group of one sandbox: one folder in v2, a folder for each controller in v1."""

    memory: Path
    pids: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((self.memory, self.pids)))

    def argv(self, command: Sequence[str]) -> list[str]:
        """The command in this group."""
        doors = [str(folder / "cgroup.procs") for folder in self.folders]
        return ["sh", "-c", _JOIN, "sh", *doors, "--", *command]

    def passed(self) -> Literal["memory", "processes"] | None:
        """Which limit the kernel has had to enforce."""
        if any(_count(self.memory / name, "oom_kill") for name in ("memory.events", "memory.oom_control")):
            return "memory"
        return "processes" if _count(self.pids / "pids.events", "max") else None

    def memory_used(self) -> int:
        """Bytes of memory of the group, what it has in file systems in memory and in the page cache among
        them.
        """
        return next(
            (int(_words(self.memory / name)[0]) for name in _USAGE if (self.memory / name).exists()), 0
        )

    def kill(self) -> None:
        """Ends all that is in the group; nothing can be started in it from here on."""
        _wrote(self.pids / "pids.max", "0")
        _wrote(self.memory / "cgroup.kill", "1")  # v2 since 5.14
        until = clock.monotonic() + _SECONDS
        while (members := _members(self.pids)) and clock.monotonic() < until:
            for member in members:
                self._kill_member(member)
            clock.pause(_PAUSE)

    def remove(self) -> None:
        """Removes the group, which nothing is in any more. The kernel may need a moment to see that."""
        until = clock.monotonic() + _SECONDS
        for folder in self.folders:
            while not _remove_group(folder) and clock.monotonic() < until:
                clock.pause(_PAUSE)

    def _kill_member(self, number: int) -> None:
        """Kills through a descriptor, so that a number that the kernel has given away meanwhile means nobody
        else.
        """
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
    """A group with these limits; None where this process may make none, or may not move anybody into it."""
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
    limited = _wrote(group.memory / "memory.max", str(memory_bytes)) or _wrote(
        group.memory / "memory.limit_in_bytes", str(memory_bytes)
    )
    # Swap is memory too; a kernel without swap has no such files.
    _wrote(group.memory / "memory.swap.max", "0")
    _wrote(group.memory / "memory.memsw.limit_in_bytes", str(memory_bytes))
    _wrote(group.memory / "memory.oom.group", "1")
    if not limited or not _wrote(group.pids / "pids.max", str(processes)):
        return False
    try:
        return process.run(group.argv(["true"]), deadline=_SECONDS).ok
    except OSError:
        return False


def _parents(proc: Path) -> Iterator[tuple[Path, Path]]:
    """Where groups may be made, as pairs of folders for memory and processes."""
    own = _own_folders(proc)
    unified = own.get("")
    # In v2 only a group without processes of its own hands controllers down: a sibling of ours is often what
    # can be made.
    for parent in () if unified is None else (unified, unified.parent):
        if _hands_down(parent):
            yield parent, parent
    if all(name in own for name in _CONTROLLERS):
        yield own["memory"], own["pids"]


def _hands_down(parent: Path) -> bool:
    """Whether groups below `parent` have limits on memory and processes."""
    handed = parent / "cgroup.subtree_control"
    if not os.access(parent / "cgroup.procs", os.W_OK) or not os.access(handed, os.W_OK):
        return False
    if not set(_CONTROLLERS) <= set(_words(handed)):
        _wrote(handed, " ".join(f"+{name}" for name in _CONTROLLERS))
    return set(_CONTROLLERS) <= set(_words(handed))


def _own_folders(proc: Path) -> dict[str, Path]:
    """Our own group's folder of each controller of v1, and of v2 under the empty name."""
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
    """Removes the groups of runs that were killed: bubblewrap's processes end with them, so that these are
    empty.
    """
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


def _wrote(path: Path, text: str) -> bool:
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
