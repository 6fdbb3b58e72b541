"""Pins the CPUs of a guest to CPUs of the host.

QEMU runs each CPU of a guest in a thread with a name. virtme-ng's `--pin` asks QEMU for these threads through
a port of localhost, which a sandbox without a network does not have, and measures on if that fails.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from cliffwatch_runner.guest.progress import family_of

NAME_THREADS = "-name debug-threads=on"
"""QEMU's option to name its threads."""

_THREAD = re.compile(r"CPU (\d{1,4})/(?:KVM|TCG)")


class Pinning:
    """Pins the CPUs of one guest. `cpus` has a host CPU for each of them, in order; empty to pin nothing."""

    def __init__(self, cpus: Sequence[int], proc: Path = Path("/proc")) -> None:
        self._waiting = dict(enumerate(cpus))
        self._proc = proc
        self._process: int | None = None

    def begin(self, process_id: int) -> None:
        """Starts looking for the threads among the descendants of a process."""
        self._process = process_id

    def look(self) -> None:
        """Pins the threads that have begun. Raises OSError if the host refuses."""
        if not self._waiting or self._process is None:
            return
        for process in family_of(self._process, self._proc):
            for comm in (self._proc / str(process) / "task").glob("*/comm"):
                self._pin(comm)

    def finish(self) -> None:
        """Pins the last threads before anything is measured. Raises OSError if one cannot be found."""
        self.look()
        if self._waiting:
            cpus = ", ".join(map(str, self._waiting.values()))
            raise OSError(f"no thread of the guest could be pinned to CPU {cpus}")

    def _pin(self, comm: Path) -> None:
        try:
            named = _THREAD.fullmatch(comm.read_text(errors="replace").strip())
        except OSError:  # the thread has ended
            return
        cpu = None if named is None else self._waiting.pop(int(named[1]), None)
        if cpu is not None:
            os.sched_setaffinity(int(comm.parent.name), {cpu})
