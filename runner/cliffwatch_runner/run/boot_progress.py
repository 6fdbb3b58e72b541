"""Reports the progress of a run's boots."""

import threading

from cliffwatch_runner.guest.boot_end import BootEnd
from cliffwatch_runner.plan.plan import Plan, PlannedBoot
from cliffwatch_runner.run.progress import Progress


class BootProgress:
    """Computes the share of guest seconds that is measured, from boots and cases that begin and end."""

    def __init__(self, plan: Plan, progress: Progress, done: set[int]) -> None:
        self._plan = plan
        self._progress = progress
        self._lock = threading.Lock()
        self._total = plan.guest_seconds()
        self._seconds = {boot.index: self._whole(boot) if boot.index in done else 0.0 for boot in plan.boots}
        self._begun = {boot.index: 0 for boot in plan.boots}

    def _whole(self, boot: PlannedBoot) -> float:
        return float(sum(self._plan.cases[case].guest_seconds for case in boot.cases))

    def boot_begins(self, boot: PlannedBoot) -> None:
        self._report(boot, "starting")

    def case_begins(self, boot: PlannedBoot, case: str) -> None:
        with self._lock:
            done = boot.cases[: self._begun[boot.index]]
            self._seconds[boot.index] = float(sum(self._plan.cases[each].guest_seconds for each in done))
            self._begun[boot.index] += 1
        self._report(boot, case.partition("-")[2])

    def boot_ends(self, boot: PlannedBoot, end: BootEnd | None) -> None:
        with self._lock:
            self._seconds[boot.index] = self._whole(boot)
        status = end.status if end is not None else "not started"
        if status not in ("complete", "stopped"):
            self._progress.note(f"boot {boot.index} ({boot.arm}): {status}")
        self._report(boot, status)

    def _report(self, boot: PlannedBoot, what: str) -> None:
        with self._lock:
            share = sum(self._seconds.values()) / self._total
        self._progress.advance(share, f"boot {boot.index} of {len(self._plan.boots)} ({boot.arm}): {what}")
