"""Measures the progress of a running guest: its own clock, and the CPU time that the host spent on it.

A busy host runs an emulator slower, or not at all for a while, so the wall clock says nothing about a guest
that counts instructions. Two other times do: the emulator's CPU time; and the time in which it slept although
nothing kept it from running, which means that the guest waits for something that does not come.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cliffwatch_runner.guest.qemu_clock import GuestClock

_TICKS = os.sysconf("SC_CLK_TCK")
_WAITING_FOR_HOST = frozenset("RDTt")
"""States of a thread that the host keeps from running: runnable, in disk sleep, stopped, traced (proc(5))."""

_LOOK_EVERY_SECONDS = 2.0
"""A look reads the state of every process on the host, so it is expensive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestProgress:
    """Progress since the guest began."""

    work: float
    """CPU seconds of the host for the guest."""

    idle: float
    """Seconds in which the guest could have run but had nothing to run."""


class Meter(Protocol):
    """Measures the progress of one guest; `now` is the host's monotonic clock in seconds.

    `guest_clock` returns seconds of the guest's clock, from an arbitrary origin; None while it is unknown.
    Reading it may disturb the measurement, so only quiet guests are asked.
    """

    def look(self, now: float) -> GuestProgress: ...
    def guest_clock(self, now: float) -> float | None: ...
    def close(self) -> None: ...


class WallMeter:
    """Meter for KVM. The guest has its CPUs to itself, so its clock and its work are the host's time."""

    def __init__(self, now: float) -> None:
        self._began = now

    def look(self, now: float) -> GuestProgress:
        return GuestProgress(work=now - self._began, idle=0.0)

    def guest_clock(self, now: float) -> float | None:
        return now

    def close(self) -> None: ...


class EmulatorMeter:
    """Meter for an emulator. `process` and its descendants do the work.

    `clock` is the guest's; None if it has the host's time.
    """

    def __init__(
        self, process: int, clock: GuestClock | None, now: float, proc: Path = Path("/proc")
    ) -> None:
        self._process = process
        self._clock = clock
        self._proc = proc
        self._last_look = now
        self._ticks: dict[int, int] = {}
        self._idle = 0.0
        self._progress = GuestProgress(work=0.0, idle=0.0)

    def look(self, now: float) -> GuestProgress:
        """Returns the current progress. Reads the processes at most every two seconds."""
        passed = now - self._last_look
        if passed < _LOOK_EVERY_SECONDS:
            return self._progress
        self._last_look = now
        before = sum(self._ticks.values())
        family = family_of(self._process, self._proc)
        self._ticks |= {pid: max(ticks, self._ticks.get(pid, 0)) for pid, ticks in family.items()}
        ticks = sum(self._ticks.values())
        if family and ticks == before and not _is_kept_from_running(self._proc, family):
            self._idle += passed
        self._progress = GuestProgress(work=ticks / _TICKS, idle=self._idle)
        return self._progress

    def guest_clock(self, now: float) -> float | None:
        return now if self._clock is None else self._clock.seconds()

    def close(self) -> None:
        if self._clock is not None:
            self._clock.close()


def family_of(ancestor: int, proc: Path = Path("/proc")) -> dict[int, int]:
    """Returns the CPU time of a process and of its descendants, in clock ticks, by process id."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in os.scandir(proc):
        fields = _fields(Path(entry.path) / "stat") if entry.name.isdigit() else None
        if fields is not None:
            pid = int(entry.name)
            parents[pid], ticks[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
    family = {ancestor} & ticks.keys()
    while more := {pid for pid, parent in parents.items() if parent in family and pid not in family}:
        family |= more
    return {pid: ticks[pid] for pid in family}


def _is_kept_from_running(proc: Path, family: dict[int, int]) -> bool:
    """True if the host keeps any thread of these processes from running."""
    return any(
        fields is None or fields[0] in _WAITING_FOR_HOST
        for pid in family
        for fields in map(_fields, (proc / str(pid) / "task").glob("*/stat"))
    )


def _fields(stat: Path) -> list[str] | None:
    """Returns the fields of a stat file from the state on; None if the file is gone.

    The process name before the state may contain blanks and brackets.
    """
    try:
        return stat.read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
