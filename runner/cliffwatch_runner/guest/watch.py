"""Watches a running guest: its current case, its progress, and the size of its output."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from cliffwatch.failure import Failure
from cliffwatch_runner import clock
from cliffwatch_runner.guest.files import current_case, find_exceeded_limit
from cliffwatch_runner.guest.progress import GuestProgress, Meter

_LOOK_EVERY_SECONDS = 1.0
_LEAST_WORK = 0.5
"""Seconds of work, per second that a guest may be quiet, before its clock is read.

The clock of a guest that waits for its host runs ahead of its work, and reading it may disturb a measurement.
"""

_QUIET_WORK = 4.0
"""Seconds of work, per second that a guest may be quiet, after which it hangs, whatever its clock says.

An emulator takes two to four for a second of the guest, and hundreds for a loop of `pause`.
"""

_MOST_WORK = 20.0
"""Seconds of work or idling, per second of a case's budget, after which it hangs even if it still prints."""

_GUESTS_SHARE = 0.5
"""Share of the host's seconds. A guest that worked and idled for more was not starved: it hangs by itself."""

EndReason = Literal["stopped", "hang", "too-much-output", "starved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestLimits:
    """When to end a guest, for its own fault or for its host's."""

    quiet: float
    """Seconds of the guest's clock without a sign of life. The time of the current case is added."""

    cases: Mapping[str, float]
    """Seconds that each case may take, by name. Other names are ignored, and each name counts once."""

    host: float
    """Seconds of the host's clock after which the guest is ended in any case."""


class GuestWatch:
    """Looks at a guest once a second.

    `reason` says why the guest must be ended; None while it may run. `too_much` says which limit on its files
    it exceeds, or None.
    """

    def __init__(
        self,
        results: Path,
        limits: GuestLimits,
        on_case: Callable[[str], None],
        asked_to_stop: Callable[[], bool],
    ) -> None:
        self._results = results
        self._limits = limits
        self._on_case = on_case
        self._asked_to_stop = asked_to_stop
        self._meter: Meter | None = None
        self._began = self._last_look = clock.monotonic()
        self._case: str | None = None
        self._begun: set[str] = set()
        self._heard = False
        self._case_began = self._last_sign = GuestProgress(work=0.0, idle=0.0)
        self._suspected_at: float | None = None
        self.reason: EndReason | None = None
        self.too_much: Failure | None = None

    def begin(self, meter: Meter) -> None:
        """Starts watching. Call it once the guest has started; `meter` measures its progress."""
        self._meter = meter

    def heard(self, _: str) -> None:
        """Notes that the guest has printed something."""
        self._heard = True

    def should_stop(self) -> bool:
        now = clock.monotonic()
        if self._asked_to_stop():
            self.reason = "stopped"
        elif self._meter is not None and self.reason is None and now - self._last_look >= _LOOK_EVERY_SECONDS:
            self._last_look = now
            self.reason = self._look(now, self._meter)
        return self.reason is not None

    def _look(self, now: float, meter: Meter) -> EndReason | None:
        progress = meter.look(now)
        self._take_signs(progress)
        if self._hangs(progress, partial(meter.guest_clock, now)):
            return "hang"
        self.too_much = find_exceeded_limit(self._results)
        if self.too_much is not None:
            return "too-much-output"
        if now - self._began > self._limits.host:
            return (
                "hang" if progress.work + progress.idle > _GUESTS_SHARE * (now - self._began) else "starved"
            )
        return None

    def _hangs(self, progress: GuestProgress, guest_clock: Callable[[], float | None]) -> bool:
        quiet = self._limits.quiet + self._limits.cases.get(self._case or "", 0.0)
        worked = progress.work - self._last_sign.work
        if (
            progress.idle - self._last_sign.idle > self._limits.quiet
            or progress.idle - self._case_began.idle > _MOST_WORK * quiet
            or progress.work - self._case_began.work > _MOST_WORK * quiet
            or worked > _QUIET_WORK * quiet
        ):
            return True
        return worked > _LEAST_WORK * quiet and self._quiet_by_its_clock(guest_clock(), quiet)

    def _quiet_by_its_clock(self, now: float | None, quiet: float) -> bool:
        if self._suspected_at is None:
            self._suspected_at = now
        return now is not None and self._suspected_at is not None and now - self._suspected_at > quiet

    def _take_signs(self, progress: GuestProgress) -> None:
        """Notes signs of life: the start of a case, and output on the console."""
        case = current_case(self._results)
        if case != self._case and (case is None or self._begins(case)):
            self._case, self._case_began, self._heard = case, progress, True
            if case is not None:
                self._begun.add(case)
                self._on_case(case)
        if self._heard:
            self._last_sign, self._suspected_at, self._heard = progress, None, False

    def _begins(self, name: str) -> bool:
        """True for a planned case that has not begun before.

        A guest may write any name, any number of times.
        """
        return name in self._limits.cases and name not in self._begun
