"""Holds somebody else's code to its limits, with systemd or without.

The kernel holds a sandbox to them by a control group where this process may make one. Everywhere a thread watches what the
sandbox uses and ends it; limits on each process (RLIMIT_NPROC, RLIMIT_DATA, RLIMIT_FSIZE) keep the host usable until it
has looked.
"""

import itertools
import os
import resource
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner import clock
from cliffwatch_runner.host.capacity import few_inodes, free_disk, meminfo_bytes, size_below, threads_running
from cliffwatch_runner.sandbox.control_groups import ControlGroup, make_group
from cliffwatch_runner.sandbox.limits import Reason, SandboxLimits, limit_failure
from cliffwatch_runner.sandbox.process_tree import (
    SandboxProcess,
    end_tree,
    in_memory_files,
    latest_are_ours,
    members,
    memory_used,
    process_of,
    threads_of,
    threads_of_others,
)

_GLANCE_SECONDS = 0.1
_GLANCES = 3
"""At the number of the host's processes, which is one short file, between two looks at them all."""

_NICENESS = 10
"""Of builds that only the watcher limits: some hundred processes that fork without end leave it no CPU for seconds else."""

_MUCH = 32 << 20
_FIRST_TO_GO = 'echo 1000 > /proc/self/oom_score_adj; exec "$@"'
"""Where the host runs out of memory all the same, the kernel takes the sandbox's processes before anybody else's."""


class Guard:
    """Holds one sandbox to its limits. `reason` is the limit that it reached."""

    def __init__(
        self, limits: SandboxLimits, writable: Sequence[Path], user: int, niceness: int, group: ControlGroup | None
    ) -> None:
        self.reason: Reason | None = None
        self._limits = limits
        self._user = user
        self._niceness = niceness
        self._group = group
        self._disks = {folder: free_disk(folder) for folder in writable}
        self._measured_at = dict.fromkeys(writable, limits.disk_bytes)
        self._known: dict[int, SandboxProcess] = {}
        self._began = 0.0
        self._threads = threads_running()
        self._others = self._others_before = 0 if group is not None else threads_of_others(self._user)
        self._root: SandboxProcess | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="build-limits", daemon=True)

    def argv(self, command: Sequence[str]) -> list[str]:
        """The command under its limits: what it starts is in the control group from its first instruction on."""
        limits = self._limits
        each = ["prlimit", "--core=0", f"--fsize={limits.file_bytes}", f"--data={limits.memory_bytes}"]
        if self._group is None:
            # The kernel counts all processes of a user, those outside the sandbox too: room for as many again as there
            # may be, and a quarter, so that what the user starts meanwhile leaves a bomb the room in which it is seen.
            room = threads_of(self._user) + limits.processes * 5 // 4
            hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
            each.append(f"--nproc={room if hard == resource.RLIM_INFINITY else min(room, hard)}")
            each += ["nice", "-n", str(self._niceness)]
        limited = [*each, "sh", "-c", _FIRST_TO_GO, "sh", *command]
        return limited if self._group is None else self._group.argv(limited)

    def begin(self, number: int) -> None:
        """Watches the process of that number, which was just started, and all that it starts."""
        self._root = process_of(number)
        self._began = clock.monotonic()
        self._thread.start()

    def should_stop(self) -> bool:
        """Whether a limit was reached; the sandbox has been ended then."""
        return self.reason is not None

    def failure(self, what: str) -> Failure | None:
        """Why `what` ("the build") was ended, once it has ended; None where no limit was reached.

        Ask before you look at how it ended: what was killed has a status and a log too.
        """
        self._settle()
        return None if self.reason is None else limit_failure(self.reason, self._limits, what)

    def end(self) -> None:
        """Ends what is left of the sandbox, and its group."""
        self._settle()
        if self._group is not None:
            self._group.remove()

    def _settle(self) -> None:
        if self._done.is_set():
            return
        self._done.set()
        if self._root is not None:
            self._thread.join()
            self._kill()
        if self._group is not None:
            # The kernel may have enforced a limit after the last look.
            self.reason = self.reason or self._group.passed()

    def _watch(self) -> None:
        for glance in itertools.cycle(range(_GLANCES)):
            if self._done.wait(_GLANCE_SECONDS):
                return
            reason = self._glance() or (self._look() if glance == 0 else None)
            if reason is not None:
                self._stop(reason)
                return

    def _stop(self, reason: Reason) -> None:
        lost, threads = self._lost(), threads_running()
        ended = self._kill()
        # What is free again without the sandbox was used by it; else somebody else used it up.
        if reason == "spare disk":
            reason = "disk" if self._ours(lost) else "host disk"
        elif reason == "processes" and self._group is None:
            ours = max(ended, threads - threads_running()) > self._limits.processes // 2
            reason = "processes" if ours else "host processes"
        self.reason = reason

    def _glance(self) -> Reason | None:
        """A bomb slows down whoever counts its processes one by one: the host's number must not rise by more, either."""
        most = self._limits.processes
        if self._group is not None or self._more() <= most:
            return None
        if not latest_are_ours(self._user, most):
            self._others = threads_of_others(self._user)
        return "processes" if self._more() > most else None

    def _more(self) -> int:
        """How many processes and threads the host has more than at the beginning, without those of other users."""
        return threads_running() - self._threads - (self._others - self._others_before)

    def _look(self) -> Reason | None:
        limits = self._limits
        if clock.monotonic() - self._began > limits.seconds:
            return "time"
        if self._group is not None:
            passed = self._group.passed()
            return passed or self._host_memory(self._group.memory_used()) or self._disk()
        assert self._root is not None
        self._known = members(self._root, self._known.values())
        self._others = threads_of_others(self._user)
        if sum(member.threads for member in self._known.values()) > limits.processes:
            return "processes"
        used = memory_used(self._known.values(), limits.memory_bytes) + in_memory_files(self._known.values())
        if used > limits.memory_bytes:
            return "memory"
        return self._host_memory(used) or self._disk()

    def _host_memory(self, used: int) -> Reason | None:
        """Whether the host runs short of memory, and whose doing that is."""
        available = meminfo_bytes("MemAvailable")
        if available is None or available >= self._limits.spare_memory:
            return None
        return "memory" if used > self._limits.memory_bytes // 2 else "host memory"

    def _disk(self) -> Reason | None:
        for folder, lost in self._lost().items():
            if free_disk(folder) < self._limits.spare_disk or few_inodes(folder):
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
        """Whether the sandbox has filled the disk: what lies in its folders, and what went with its processes."""
        after = self._lost()
        gone = sum(max(0, lost[folder] - after[folder]) for folder in lost)
        return gone + sum(map(size_below, self._disks)) >= max(lost.values()) // 2 >= _MUCH

    def _kill(self) -> int:
        if self._group is not None:
            self._group.kill()
        assert self._root is not None
        return end_tree(self._root, self._known.values())


@contextmanager
def guarded(
    limits: SandboxLimits,
    writable: Sequence[Path],
    *,
    user: int | None = None,
    niceness: int = _NICENESS,
    control_groups: bool = True,
) -> Iterator[Guard]:
    """Guards one sandbox: start `guard.argv(…)`, give its number to `guard.begin`, ask `guard.should_stop` now and then.

    `writable` are the host's folders that the sandbox may write to, `user` is whom its processes run as; without a control
    group they leave the CPU to others by `niceness`. At the end of the block nothing of the sandbox is left.
    """
    group = make_group(limits.memory_bytes, limits.processes) if control_groups else None
    guard = Guard(limits, writable, os.geteuid() if user is None else user, niceness, group)
    try:
        yield guard
    finally:
        guard.end()
