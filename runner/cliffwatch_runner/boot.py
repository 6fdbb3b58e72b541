"""Boots one guest, watches it, and says how it ended."""

import math
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from cliffwatch.parsers.splats import Splat, find_splats
from cliffwatch_runner import clock, process
from cliffwatch_runner.cache_entries import open_to_read
from cliffwatch_runner.guest_argv import GuestFolders, GuestShape
from cliffwatch_runner.guest_clock import GuestClock
from cliffwatch_runner.guest_files import keep_only_expected, read_guest_file
from cliffwatch_runner.guest_progress import EmulatorMeter, Meter, WallMeter
from cliffwatch_runner.guest_watch import GuestLimits, GuestWatch

BootStatus = Literal["complete", "refused", "panic", "hang", "lost", "too-much-output", "stopped", "starved"]

LARGEST_CONSOLE_BYTES = 32 << 20
_EXPECTED = frozenset({"guest", "cases", "current", "refused", "dmesg", "done", "bench-list", "bench-list.err"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestCase:
    """A case as the agent knows it: a name that is a file name, and bench's arguments.

    `deadline` is in seconds of the guest's clock, `busy` in CPU seconds of bench. Under icount the clock of a guest that
    waits for its host runs ahead by hours, so that only the CPU time says how long a case has worked.
    """

    name: str
    deadline: int
    busy: int
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootOrder:
    """All that one start of a guest needs.

    `programs` are bench and what is preloaded into it; `argv` gives the call that starts the guest, isolation and limits on
    what it writes included; `limits` say when it is ended.
    """

    kernel: Path
    programs: tuple[Path, ...]
    cases: tuple[GuestCase, ...]
    shape: GuestShape
    forbidden: tuple[str, ...]
    limits: GuestLimits
    argv: Callable[[GuestFolders], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootEnd:
    """How a start of a guest ended; "starved" is the host's doing, which did not get it run in half a day.

    `last_case` is the case that had begun and not ended. `evidence` is the end of the console or what the guest refused.
    """

    status: BootStatus
    seconds: float
    last_case: str | None
    splats: tuple[Splat, ...]
    evidence: str
    unexpected_files: tuple[str, ...]


def boot_guest(
    order: BootOrder, folder: Path, *, on_case: Callable[[str], None], should_stop: Callable[[], bool]
) -> BootEnd:
    """Starts one guest and returns when it has ended or was ended.

    Raw outputs come to lie in `folder` (guest/, cases/, dmesg) and the console in `folder/console`. Raises OSError
    where the host cannot write them, FileNotFoundError where a program is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cliffwatch-boot-") as temporary:
        given = _write_input(Path(temporary) / "input", order)
        monitor = Path(temporary) / "monitor"
        monitor.mkdir()
        folders = GuestFolders(kernel=order.kernel, input=given, results=folder, monitor=monitor)
        watch = GuestWatch(folder, order.limits, on_case, should_stop)
        console = folder.parent / f"{folder.name}.console"
        with closing(_Metering(order.shape, monitor, watch)) as metering:
            ended = process.run(
                order.argv(folders),
                deadline=math.inf,
                log=process.Log(console, LARGEST_CONSOLE_BYTES),
                on_start=metering.begin,
                on_output=watch.heard,
                should_stop=watch.should_stop,
            )
    unexpected = keep_only_expected(folder, _EXPECTED)
    console.replace(folder / "console")
    return _end(folder, ended, watch, unexpected)


class _Metering:
    """Gives a watch the meter of the guest's mode once the guest's process is known."""

    def __init__(self, shape: GuestShape, monitor: Path, watch: GuestWatch) -> None:
        self._shape = shape
        self._monitor = monitor
        self._watch = watch
        self._meter: Meter | None = None

    def begin(self, process_id: int) -> None:
        now = clock.monotonic()
        if self._shape.mode == "icount":
            self._meter = EmulatorMeter(process_id, GuestClock(self._monitor), now)
        else:
            self._meter = WallMeter(now)
        self._watch.begin(self._meter)

    def close(self) -> None:
        if self._meter is not None:
            self._meter.close()


def _write_input(folder: Path, order: BootOrder) -> Path:
    folder.mkdir()
    agent = files("cliffwatch_runner") / "guest" / "agent.sh"
    (folder / "agent.sh").write_text(agent.read_text())
    rows = [f"{case.name}\t{case.deadline}\t{case.busy}\t{' '.join(case.arguments)}\n" for case in order.cases]
    (folder / "cases").write_text("".join(rows))
    (folder / "forbidden").write_text("".join(f"{symbol}=[ym]\n" for symbol in order.forbidden))
    (folder / "wanted").write_text("".join(f"{what} {value}\n" for what, value in order.shape.wanted().items()))
    (folder / "bench").mkdir()
    for program in order.programs:
        shutil.copy2(program, folder / "bench" / program.name)
    open_to_read(folder)
    return folder


def _end(folder: Path, ended: process.Finished, watch: GuestWatch, unexpected: tuple[str, ...]) -> BootEnd:
    console = read_guest_file(folder / "console") or ""
    dmesg = read_guest_file(folder / "dmesg")
    splats = find_splats(dmesg or console)
    refused = read_guest_file(folder / "refused", limit=4096)
    last_case = read_guest_file(folder / "current", limit=200)
    status = _status(folder, watch, refused=refused, splats=splats)
    return BootEnd(
        status=status,
        seconds=ended.seconds,
        last_case=last_case.strip() if last_case else None,
        splats=splats,
        evidence=_evidence(status, refused, splats, console),
        unexpected_files=unexpected,
    )


def _status(folder: Path, watch: GuestWatch, *, refused: str | None, splats: tuple[Splat, ...]) -> BootStatus:
    if watch.reason is not None:
        return watch.reason
    if refused:
        return "refused"
    if any(splat.panic for splat in splats):
        return "panic"
    return "complete" if read_guest_file(folder / "done") is not None else "lost"


def _evidence(status: BootStatus, refused: str | None, splats: tuple[Splat, ...], console: str) -> str:
    if status == "complete":
        return ""
    if status == "refused":
        return refused or ""
    if splats:
        return splats[0].text
    return "\n".join(console.splitlines()[-30:])
