"""Watches one sandbox and ends it at its limits, in a process of its own: whatever its caller works at does
not hold it up.

`python -m cliffwatch_runner.sandbox.watching` reads a line of JSON (`Watched`) and writes the limit that
was reached, if any. Once its input ends, as it does when its caller dies, it ends what is left of the
sandbox, writes `ended` and ends.
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
    latest_are_ours,
    members,
    threads_of_others,
)

ENDED = "ended"
"""Says that nothing of the sandbox is left."""

_GLANCE_SECONDS = 0.1
_GLANCES = 3
"""At the number of the host's processes, which is one short file, between two looks at them all."""

_MUCH = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What a sandbox may use, and what the host had before it: free bytes by writable folder, threads, and
    bytes of shared memory.

    `root` is its first process; `user` is whom its processes run as.
    """

    limits: SandboxLimits
    disks: Mapping[str, int]
    user: int
    group: tuple[str, str] | None
    root: SandboxProcess | None
    threads: int
    threads_of_others: int
    shared: int

    def line(self) -> str:
        return json.dumps(asdict(self))


def watched_sandbox(line: str) -> Watched:
    content = json.loads(line)
    limits, group, root = (content.pop(name) for name in ("limits", "group", "root"))
    return Watched(
        limits=SandboxLimits(**limits),
        group=None if group is None else tuple(group),
        root=None if root is None else SandboxProcess(**root),
        **content,
    )


class Watch:
    """The look at one sandbox, again and again."""

    def __init__(self, watched: Watched) -> None:
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
        """The limit that was reached, at which the sandbox is ended; None where the caller's end
        came first.
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
        """A bomb slows down whoever counts its processes one by one: the host's number must not rise by more,
        either.
        """
        most = self._limits.processes
        if self._group is not None or self._more() <= most:
            return None
        if not latest_are_ours(self._watched.user, most):
            self._others = threads_of_others(self._watched.user)
        return "processes" if self._more() > most else None

    def _more(self) -> int:
        """How many processes and threads the host has more than at the beginning, without those of other
        users.
        """
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
        self._known = members(self._root, self._known.values())
        self._others = threads_of_others(self._watched.user)
        if sum(member.threads for member in self._known.values()) > limits.processes:
            return "processes"
        used = self._memory()
        return "memory" if used > limits.memory_bytes else self._host_memory(used) or self._disk()

    def _memory(self) -> int:
        """Bytes of memory, where no control group counts them. What the processes share is looked for once
        the host has as much more of it.
        """
        known, most = self._known.values(), self._limits.memory_bytes
        files = in_memory_files(known)
        used = memory_used(known, most) + files
        grown = (meminfo_bytes("Shmem") or 0) - self._watched.shared - files
        return used if used > most or used + grown <= most else used + shared_memory(known, grown)

    def _host_memory(self, used: int) -> Reason | None:
        """Whether the host runs short of memory, and whose doing that is."""
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
        """What each writable folder's file system has less than at the beginning."""
        return {folder: before - free_disk(folder) for folder, before in self._disks.items()}

    def _ours(self, lost: dict[Path, int]) -> bool:
        """Whether the sandbox has filled the disk: what lies in its folders, and what went with its
        processes.
        """
        after = self._lost()
        gone = sum(max(0, lost[folder] - after[folder]) for folder in lost)
        return gone + sum(map(size_below, self._disks)) >= max(lost.values()) // 2 >= _MUCH

    def end(self) -> int:
        """Ends all of the sandbox; gives how many threads it had, as far as that was to be seen."""
        if self._group is not None:
            self._group.kill()
        return 0 if self._root is None else end_tree(self._root, self._known.values())


def group_of(folders: tuple[str, str] | None) -> ControlGroup | None:
    return None if folders is None else ControlGroup(memory=Path(folders[0]), pids=Path(folders[1]))


def _input_ended(seconds: float) -> bool:
    """Whether the input ends within so many seconds; nothing more comes in it."""
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
