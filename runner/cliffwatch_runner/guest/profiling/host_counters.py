"""Runs perf on the host, attached to a guest's emulator while a case runs."""

import shutil
import signal
import subprocess
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from cliffwatch_runner.guest.progress import family_of

EVENTS = (
    *("cycles:G", "cycles:H", "instructions:G", "LLC-loads", "LLC-load-misses", "branch-misses"),
    *("context-switches", "cpu-migrations", "page-faults"),
)
"""Events of the guest (:G), of the host on its behalf (:H), and of both."""

_ENDS_WITHIN_SECONDS = 10
_SIGNALS = 100


class HostCounters:
    """Runs one perf at a time, which writes its counters to `folder`/CASE.counters when it gets SIGINT.

    Each of `cases` is counted once. Other names that a guest reports are ignored.
    """

    def __init__(self, folder: Path, cases: Collection[str]) -> None:
        self.folder = folder
        self._left = set(cases)
        self._process: int | None = None
        self._perf: subprocess.Popen[bytes] | None = None

    def begin(self, process: int) -> None:
        """Sets the process to count: the guest's, or that of its sandbox."""
        self._process = process

    def case_begins(self, name: str) -> None:
        """Ends the running perf, and starts one for this case."""
        if self._process is None or name not in self._left:
            return
        self._left.remove(name)
        self.end()
        perf = shutil.which("perf")
        if perf is None:
            (self.folder / f"{name}.err").write_text(
                "perf is not installed on this host: install linux-perf\n"
            )
            return
        family = ",".join(map(str, sorted(family_of(self._process))))
        with (self.folder / f"{name}.err").open("wb") as errors:
            self._perf = subprocess.Popen(
                [
                    *(perf, "stat"),
                    *("-x,", "-o", str(self.folder / f"{name}.counters")),
                    *("-e", ",".join(EVENTS), "-p", family),
                ],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C"},
            )

    def end(self) -> None:
        """Ends the running perf, if there is one."""
        perf, self._perf = self._perf, None
        if perf is None:
            return
        # If cliffwatch was started in the background, perf ignores SIGINT until it has set itself up.
        for _ in range(_SIGNALS):
            with suppress(subprocess.TimeoutExpired):
                perf.send_signal(signal.SIGINT)
                perf.wait(_ENDS_WITHIN_SECONDS / _SIGNALS)
                return
        perf.kill()
        perf.wait()
