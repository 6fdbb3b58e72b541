"""Holds somebody else's code to its limits, with systemd or without.

The kernel holds a sandbox to them by a control group where this process may make one. Everywhere a process
of its own watches what the sandbox uses and ends it (cliffwatch_runner.sandbox.watching); limits on each
process (RLIMIT_NPROC, RLIMIT_DATA, RLIMIT_FSIZE) keep the host usable until it has looked.
"""

import os
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

from cliffwatch.failure import Failure
from cliffwatch_runner import process
from cliffwatch_runner.host.capacity import free_disk, meminfo_bytes, threads_running
from cliffwatch_runner.sandbox.control_groups import ControlGroup, make_group
from cliffwatch_runner.sandbox.limits import Reason, SandboxLimits, limit_failure
from cliffwatch_runner.sandbox.process_tree import (
    SandboxProcess,
    end_tree,
    process_of,
    threads_of,
    threads_of_others,
)
from cliffwatch_runner.sandbox.watching import ENDED, Watched

_NICENESS = 10
"""Of builds that only the watcher limits: some hundred processes that fork without end leave it no CPU for
seconds else.
"""

_PATIENCE = 10.0
_ENDING_SECONDS = 300.0
"""For all of a sandbox to end; a bomb takes a while."""

_WATCHER = (sys.executable, "-P", "-m", "cliffwatch_runner.sandbox.watching")
_FIRST_TO_GO = 'echo 1000 > /proc/self/oom_score_adj; exec "$@"'
"""Where the host runs out of memory all the same, the kernel takes the sandbox's processes before anybody
else's.
"""


class Guard:
    """Holds one sandbox to its limits. `reason` is the limit that it reached."""

    def __init__(
        self,
        limits: SandboxLimits,
        writable: Sequence[Path],
        user: int,
        niceness: int,
        group: ControlGroup | None,
        watcher: process.Conversation,
    ) -> None:
        self.reason: Reason | None = None
        self._limits = limits
        self._user = user
        self._niceness = niceness
        self._group = group
        self._watcher = watcher
        self._disks = {str(folder): free_disk(folder) for folder in writable}
        self._threads = threads_running()
        self._others = 0 if group is not None else threads_of_others(user)
        self._shared = meminfo_bytes("Shmem") or 0
        self._root: SandboxProcess | None = None
        self._settled = False

    def argv(self, command: Sequence[str]) -> list[str]:
        """The command under its limits: what it starts is in the control group from its first
        instruction on.
        """
        limits = self._limits
        each = ["prlimit", "--core=0", f"--fsize={limits.file_bytes}", f"--data={limits.memory_bytes}"]
        if self._group is None:
            # The kernel counts all processes of a user, those outside the sandbox too: room for as many again
            # as there may be, and a quarter, so that what the user starts meanwhile leaves a bomb the room in
            # which it is seen.
            room = threads_of(self._user) + limits.processes * 5 // 4
            hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
            each.append(f"--nproc={room if hard == resource.RLIM_INFINITY else min(room, hard)}")
            each += ["nice", "-n", str(self._niceness)]
        limited = [*each, "sh", "-c", _FIRST_TO_GO, "sh", *command]
        return limited if self._group is None else self._group.argv(limited)

    def begin(self, number: int) -> None:
        """Has the process of that number, which was just started, watched, and all that it starts."""
        self._root = process_of(number)
        watched = Watched(
            limits=self._limits,
            disks=self._disks,
            user=self._user,
            group=None if self._group is None else (str(self._group.memory), str(self._group.pids)),
            root=self._root,
            threads=self._threads,
            threads_of_others=self._others,
            shared=self._shared,
        )
        with suppress(BrokenPipeError):  # a watcher that has ended is missed at the next look
            self._watcher.send(watched.line())

    def should_stop(self) -> bool:
        """Whether a limit was reached; the sandbox has been ended then. One that nobody watches any more is
        to be ended too.
        """
        if self.reason is None:
            self._hear(0.0)
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
        if self._settled:
            return
        self._settled = True
        with suppress(BrokenPipeError):
            self._watcher.end_input()
        if self._root is not None and not self._hear(_ENDING_SECONDS):
            self._kill(self._root)
        if self._group is not None:
            # The kernel may have enforced a limit after the last look.
            self.reason = self.reason or self._group.passed()

    def _hear(self, seconds: float) -> bool:
        """Takes what the watcher says; whether it has said that all is ended."""
        while (line := self._watcher.receive(seconds)) is not None:
            if line == ENDED:
                return True
            self.reason = cast("Reason", line)
        if self.reason is None and self._watcher.has_ended():
            self.reason = "host watcher"
        return False

    def _kill(self, root: SandboxProcess) -> None:
        if self._group is not None:
            self._group.kill()
        end_tree(root)


@contextmanager
def guard_sandbox(
    limits: SandboxLimits,
    writable: Sequence[Path],
    *,
    user: int | None = None,
    niceness: int = _NICENESS,
    control_groups: bool = True,
) -> Iterator[Guard]:
    """Guards one sandbox: start `guard.argv(…)`, give its number to `guard.begin`, ask `guard.should_stop`
    now and then.

    `writable` are the host's folders that the sandbox may write to, `user` is whom its processes run as;
    without a control group they leave the CPU to others by `niceness`. At the end of the block nothing of
    the sandbox is left.
    """
    group = make_group(limits.memory_bytes, limits.processes) if control_groups else None
    with process.conversation(_WATCHER, patience=_PATIENCE) as watcher:
        guard = Guard(limits, writable, os.geteuid() if user is None else user, niceness, group, watcher)
        try:
            yield guard
        finally:
            guard.end()
