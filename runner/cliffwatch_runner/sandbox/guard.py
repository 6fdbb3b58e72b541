"""Enforces limits on untrusted code, with systemd or without.

If this process may create a control group, the kernel enforces the limits. In any case a separate process
watches what the sandbox uses and ends it at its limits (cliffwatch_runner.sandbox.watching). Limits on each
process (RLIMIT_NPROC, RLIMIT_DATA, RLIMIT_FSIZE) keep the host usable until the watcher has looked.
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
from cliffwatch_runner.sandbox.watching import ENDED, WatchRequest

_NICENESS = 10
"""Niceness of builds that only the watcher limits.

Otherwise some hundred endlessly forking processes would take all CPU from the watcher for seconds.
"""

_PATIENCE = 10.0
_ENDING_SECONDS = 300.0
"""Time for the whole sandbox to end; a fork bomb takes a while."""

_WATCHER = (sys.executable, "-P", "-m", "cliffwatch_runner.sandbox.watching")
_PREFERRED_BY_OOM_KILLER = 'echo 1000 > /proc/self/oom_score_adj; exec "$@"'
"""If the host runs out of memory anyway, the kernel kills the sandbox's processes first."""


class Guard:
    """Enforces the limits of one sandbox. `reason` is the limit that it reached, None so far."""

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
        """Returns the command under its limits.

        Its processes are in the control group from their first instruction.
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
        limited = [*each, "sh", "-c", _PREFERRED_BY_OOM_KILLER, "sh", *command]
        return limited if self._group is None else self._group.argv(limited)

    def begin(self, number: int) -> None:
        """Starts watching the process with this pid, which was just started, and all of its descendants."""
        self._root = process_of(number)
        watched = WatchRequest(
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
        """True if a limit was reached or the watcher has ended.

        At a limit the watcher has ended the sandbox already. If the watcher has ended, the caller must end
        it.
        """
        if self.reason is None:
            self._hear(0.0)
        return self.reason is not None

    def failure(self, what: str) -> Failure | None:
        """Returns why `what` ("the build") was ended, after it has ended; None if no limit was reached.

        Call this before you interpret its exit status: a killed command has a status and a log too.
        """
        self._settle()
        return None if self.reason is None else limit_failure(self.reason, self._limits, what)

    def end(self) -> None:
        """Ends the rest of the sandbox and removes its control group."""
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
        """Reads the watcher's messages. Returns True once it has reported the end of the sandbox."""
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
    """Guards one sandbox: start `guard.argv(…)`, pass its pid to `guard.begin`, poll `guard.should_stop`.

    - `writable`: folders of the host that the sandbox may write to.
    - `user`: uid that its processes run as; None means our own.
    - `niceness`: of its processes if there is no control group.

    When the block ends, nothing of the sandbox is left.
    """
    group = make_group(limits.memory_bytes, limits.processes) if control_groups else None
    with process.conversation(_WATCHER, patience=_PATIENCE) as watcher:
        guard = Guard(limits, writable, os.geteuid() if user is None else user, niceness, group, watcher)
        try:
            yield guard
        finally:
            guard.end()
