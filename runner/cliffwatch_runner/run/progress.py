"""Shows the progress of a run: a live line on a terminal, plain lines elsewhere."""

import threading
from collections.abc import Callable
from typing import Protocol, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as ProgressBar

from cliffwatch.counting import format_duration
from cliffwatch.reports.styles import plain, visible
from cliffwatch_runner import clock
from cliffwatch_runner.guest.boot_end import BootEnd
from cliffwatch_runner.plan.plan import Plan, PlannedBoot

_PLAIN_EVERY_SECONDS = 30.0


class Progress(Protocol):
    """Receives the progress of a run. May be called from several threads. Fractions are 0 to 1."""

    def begin(self, phase: str, detail: str = "") -> None: ...
    def advance(self, fraction: float | None, detail: str = "") -> None: ...
    def end(self, detail: str) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


def time_left(fraction: float | None, elapsed: float) -> str:
    """Returns `about 3 min left`, extrapolated from the completed fraction; empty if it is too early."""
    if fraction is None or fraction <= 0.02 or elapsed < 2:
        return ""
    left = elapsed * (1 - fraction) / fraction
    return f"about {format_duration(left)} left"


class PlainLines:
    """Prints a line where a phase begins and ends, and every half minute in between."""

    def __init__(self, stream: TextIO, monotonic: Callable[[], float] = clock.monotonic) -> None:
        self._stream = stream
        self._monotonic = monotonic
        self._lock = threading.RLock()
        self._run_began = self._phase_began = self._last_line = monotonic()
        self._phase = ""

    def begin(self, phase: str, detail: str = "") -> None:
        with self._lock:
            self._phase, self._phase_began = phase, self._monotonic()
            self._line(f"{phase}: {detail}" if detail else phase)

    def advance(self, fraction: float | None, detail: str = "") -> None:
        with self._lock:
            now = self._monotonic()
            if now - self._last_line < _PLAIN_EVERY_SECONDS:
                return
            share = f"{fraction:4.0%}" if fraction is not None else ""
            parts = [share, detail, time_left(fraction, now - self._phase_began)]
            self._line(f"{self._phase}: " + ", ".join(part for part in parts if part))

    def end(self, detail: str) -> None:
        with self._lock:
            took = format_duration(self._monotonic() - self._phase_began)
            self._line(f"{self._phase}: {detail} ({took})")

    def note(self, text: str) -> None:
        with self._lock:
            self._line(text)

    def close(self) -> None:
        self._stream.flush()

    def _line(self, text: str) -> None:
        self._last_line = self._monotonic()
        print(visible(f"[{self._last_line - self._run_began:6.0f} s] {text}"), file=self._stream, flush=True)


class LiveLine:
    """Shows a bar for the current phase. Each completed phase leaves a line above it."""

    def __init__(self, console: Console) -> None:
        self._lock = threading.RLock()
        self._phase = ""
        self._phase_began = clock.monotonic()
        self._task: TaskID | None = None
        self._bar = ProgressBar(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[share]:>4}"),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[detail]}"),
            console=console,
            transient=True,
        )
        self._bar.start()

    def begin(self, phase: str, detail: str = "") -> None:
        with self._lock:
            self._phase, self._phase_began = phase, clock.monotonic()
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(phase, total=None, share="", detail=escape(plain(detail)))

    def advance(self, fraction: float | None, detail: str = "") -> None:
        with self._lock:
            if self._task is None:
                return
            left = time_left(fraction, clock.monotonic() - self._phase_began)
            self._bar.update(
                self._task,
                total=1.0 if fraction is not None else None,
                completed=fraction or 0.0,
                share=f"{fraction:.0%}" if fraction is not None else "",
                detail=escape(plain(", ".join(part for part in (detail, left) if part))),
            )

    def end(self, detail: str) -> None:
        with self._lock:
            took = format_duration(clock.monotonic() - self._phase_began)
            self._bar.console.print(
                f"  {escape(self._phase)}: {escape(detail)} [dim]({took})", highlight=False
            )
            if self._task is not None:
                self._bar.remove_task(self._task)
                self._task = None

    def note(self, text: str) -> None:
        with self._lock:
            self._bar.console.print(f"  {escape(text)}", highlight=False)

    def close(self) -> None:
        self._bar.stop()


class TimedPhases:
    """Wraps another display and adds up the time of each phase."""

    def __init__(self, display: Progress, monotonic: Callable[[], float] = clock.monotonic) -> None:
        self._display = display
        self._monotonic = monotonic
        self._began = monotonic()
        self._phase: tuple[str, float] | None = None
        self._seconds: dict[str, float] = {}

    def begin(self, phase: str, detail: str = "") -> None:
        self._phase = (phase, self._monotonic())
        self._display.begin(phase, detail)

    def advance(self, fraction: float | None, detail: str = "") -> None:
        self._display.advance(fraction, detail)

    def end(self, detail: str) -> None:
        if self._phase is not None:
            phase, began = self._phase
            self._seconds[phase] = self._seconds.get(phase, 0.0) + self._monotonic() - began
            self._phase = None
        self._display.end(detail)

    def note(self, text: str) -> None:
        self._display.note(text)

    def close(self) -> None:
        self._display.close()

    def summary(self) -> str:
        """Returns `12 min 03 s: tree 15 s, build base 8 min 30 s, …`, without phases below a second.

        Empty before the first phase has ended.
        """
        if not self._seconds:
            return ""
        parts = [
            f"{phase} {format_duration(seconds)}"
            for phase, seconds in self._seconds.items()
            if seconds >= 0.5
        ]
        took = format_duration(self._monotonic() - self._began)
        return f"{took}: {', '.join(parts)}" if parts else took


class BootProgress:
    """Reports the share of guest seconds that is measured, from boots and cases that begin and end.

    Called from several threads.
    """

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


def progress_display(console: Console) -> Progress:
    """Returns a live line for a terminal that can move its cursor, plain lines otherwise."""
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveLine(console)
    return PlainLines(console.file)  # type: ignore[arg-type] # rich types its file as IO[str]
