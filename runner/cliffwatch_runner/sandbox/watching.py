"""Watches one sandbox from a separate process and ends it at its limits, however busy the caller is.

`python -m cliffwatch_runner.sandbox.watching` reads a line of JSON (`Watched`). If a limit is reached, it
writes the limit's name. When its input ends, which also happens when the caller dies, it ends the rest of the
sandbox, writes `ended` and exits.
"""

import itertools
import json
import select
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from cliffwatch_runner import clock
from cliffwatch_runner.host.capacity import (
    free_disk,
    is_short_of_inodes,
    meminfo_bytes,
    size_below,
    threads_running,
)
from cliffwatch_runner.sandbox.control_groups import ControlGroup
from cliffwatch_runner.sandbox.limits import Reason, SandboxLimits
from cliffwatch_runner.sandbox.memory import in_memory_files, memory_used, shared_memory
from cliffwatch_runner.sandbox.process_tree import (
    SandboxProcess,
    end_tree,
    find_members,
    latest_are_ours,
    threads_of_others,
)

ENDED = "ended"
"""Written when nothing of the sandbox is left."""

_GLANCE_SECONDS = 0.1
_GLANCES = 3
"""Cheap looks at the host's process count (one short file) per full look at all processes."""

_MUCH = 32 << 20
"""Bytes below which the sandbox is not blamed for a full disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    """Limits of a sandbox, and the state of the host before it started."""

    limits: SandboxLimits
    disks: Mapping[str, int]
    """Free bytes by writable folder."""
    user: int
    """Uid that its processes run as."""
    group: tuple[str, str] | None
    """Memory and pids folders of its control group; None without one."""
    root: SandboxProcess | None
    """Its first process; None if that had already ended."""
    threads: int
    """Processes and threads of the host."""
    threads_of_others: int
    """Processes and threads of other users."""
    shared: int
    """Bytes of shared memory of the host."""

    def line(self) -> str:
        return json.dumps(asdict(self))


def watched_sandbox(line: str) -> WatchRequest:
    content = json.loads(line)
    limits, group, root = (content.pop(name) for name in ("limits", "group", "root"))
    return WatchRequest(
        limits=SandboxLimits(**limits),
        group=None if group is None else tuple(group),
        root=None if root is None else SandboxProcess(**root),
        **content,
    )


class Watch:
    """Checks one sandbox repeatedly."""

    def __init__(self, watched: WatchRequest) -> None:
        self._watched = watched
        self._limits = watched.limits
        self._group = group_of(watched.group)
        self._disks = {Path(folder): free for folder, free in watched.disks.items()}
        self._measured_at = dict.fromkeys(self._disks, watched.limits.disk_bytes)
        self._known: dict[int, SandboxProcess] = {}
        self._others = watched.threads_of_others
        self._root = watched.root
        self._began = clock.monotonic()

    def reason(self) -> Reason | None:
        """Waits until a limit is reached, ends the sandbox and returns the limit.

        Returns None if the caller ends first.
        """
        for glance in itertools.cycle(range(_GLANCES)):
            if _input_ended(_GLANCE_SECONDS):
                return None
            reason = self.glance() or (self._look() if glance == 0 else None)
            if reason is not None:
                return self._stop(reason)
        return None

    def _stop(self, reason: Reason) -> Reason:
        lost, threads = self._lost(), threads_running()
        ended = self.end()
        # What is free again without the sandbox was used by it; else somebody else used it up.
        if reason == "spare disk":
            reason = "disk" if self._ours(lost) else "host disk"
        elif reason == "processes" and self._group is None:
            ours = max(ended, threads - threads_running()) > self._limits.processes // 2
            reason = "processes" if ours else "host processes"
        return reason

    def glance(self) -> Reason | None:
        """Checks only the host's process count.

        While a fork bomb runs, counting single processes takes too long.
        """
        most = self._limits.processes
        if self._group is not None or self._more() <= most:
            return None
        if not latest_are_ours(self._watched.user, most):
            self._others = threads_of_others(self._watched.user)
        return "processes" if self._more() > most else None

    def _more(self) -> int:
        """Returns how many threads the host has gained since the start, without other users' threads."""
        return threads_running() - self._watched.threads - (self._others - self._watched.threads_of_others)

    def _look(self) -> Reason | None:
        limits = self._limits
        if clock.monotonic() - self._began > limits.seconds:
            return "time"
        if self._group is not None:
            passed = self._group.passed()
            return passed or self._host_memory(self._group.memory_used()) or self._disk()
        if self._root is None:
            return None
        self._known = find_members(self._root, self._known.values())
        self._others = threads_of_others(self._watched.user)
        if sum(member.threads for member in self._known.values()) > limits.processes:
            return "processes"
        used = self._memory()
        return "memory" if used > limits.memory_bytes else self._host_memory(used) or self._disk()

    def _memory(self) -> int:
        """Returns the bytes of memory that the sandbox uses, if no control group counts them.

        Memory shared between processes is searched for only if the host's shared memory has grown enough to
        exceed the limit.
        """
        known, most = self._known.values(), self._limits.memory_bytes
        files = in_memory_files(known)
        used = memory_used(known, most) + files
        grown = (meminfo_bytes("Shmem") or 0) - self._watched.shared - files
        return used if used > most or used + grown <= most else used + shared_memory(known, grown)

    def _host_memory(self, used: int) -> Reason | None:
        """Returns who uses too much memory if the host runs short of it; None otherwise."""
        available = meminfo_bytes("MemAvailable")
        if available is None or available >= self._limits.spare_memory:
            return None
        return "memory" if used > self._limits.memory_bytes // 2 else "host memory"

    def _disk(self) -> Reason | None:
        for folder, lost in self._lost().items():
            if free_disk(folder) < self._limits.spare_disk or is_short_of_inodes(folder):
                return "spare disk"
            if lost > self._measured_at[folder]:
                # Somebody has filled the disk; the folders are measured, as that can have been anybody.
                self._measured_at[folder] = lost + self._limits.disk_bytes // 4
                if sum(map(size_below, self._disks)) > self._limits.disk_bytes:
                    return "disk"
        return None

    def _lost(self) -> dict[Path, int]:
        """Returns by how many free bytes each writable folder's file system has shrunk since the start."""
        return {folder: before - free_disk(folder) for folder, before in self._disks.items()}

    def _ours(self, lost: dict[Path, int]) -> bool:
        """True if the sandbox filled the disk.

        That is so if its folders, plus the space that its end freed, make up half of the loss.
        """
        after = self._lost()
        gone = sum(max(0, lost[folder] - after[folder]) for folder in lost)
        return gone + sum(map(size_below, self._disks)) >= max(lost.values()) // 2 >= _MUCH

    def end(self) -> int:
        """Ends the whole sandbox. Returns how many threads it had, as far as they were visible."""
        if self._group is not None:
            self._group.kill()
        return 0 if self._root is None else end_tree(self._root, self._known.values())


def group_of(folders: tuple[str, str] | None) -> ControlGroup | None:
    return None if folders is None else ControlGroup(memory=Path(folders[0]), pids=Path(folders[1]))


def _input_ended(seconds: float) -> bool:
    """True if the input ends within `seconds`. No more data is expected from it."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def _main() -> None:
    line = sys.stdin.readline()
    if not line:
        return
    watch = Watch(watched_sandbox(line))
    reason = watch.reason()
    if reason is not None:
        sys.stdout.write(f"{reason}\n")
        sys.stdout.flush()
        sys.stdin.read()
    watch.end()
    sys.stdout.write(f"{ENDED}\n")


if __name__ == "__main__":
    _main()
