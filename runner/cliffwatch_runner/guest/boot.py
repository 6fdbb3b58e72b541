"""One boot of a guest: started, watched, and what it left."""

import math
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

from cliffwatch.failure import Failure
from cliffwatch.parsers.splats import Splat, find_splats
from cliffwatch_runner import clock, process
from cliffwatch_runner.build.cache.entries import open_to_read
from cliffwatch_runner.guest.argv import GuestFolders, GuestShape
from cliffwatch_runner.guest.counting.bpf_names import BpfNames
from cliffwatch_runner.guest.counting.files import put_into, take_counts
from cliffwatch_runner.guest.counting.name_watch import NameWatch
from cliffwatch_runner.guest.counting.plugin import Counting
from cliffwatch_runner.guest.files import Taken, beyond_limits, read_guest_file, take_guest_files
from cliffwatch_runner.guest.programs import GuestPrograms
from cliffwatch_runner.guest.progress import EmulatorMeter, Meter, WallMeter
from cliffwatch_runner.guest.qemu_clock import GuestClock
from cliffwatch_runner.guest.watch import GuestLimits, GuestWatch
from cliffwatch_runner.sandbox.guard import guarded
from cliffwatch_runner.sandbox.limits import SandboxLimits, host_limits
from cliffwatch_runner.sandbox.sandbox import Sandbox
from cliffwatch_runner.sandbox.untrusted_files import remove_tree

BootStatus = Literal["complete", "refused", "panic", "hang", "lost", "too-much-output", "stopped", "starved"]

LARGEST_CONSOLE_BYTES = 32 << 20
_EMULATOR_BYTES = 2 << 30
_GUEST_DISK_BYTES = 1 << 30
_FILES = (
    *("current", "refused", "dmesg", "done", "bench-list", "bench-list.err"),
    *("guest/facts", "guest/config", "guest/config-from", "guest/stat-after"),
)
_OF_A_CASE = ("out", "err", "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestCase:
    """A case as the agent knows it: a name that is a file name, its program (`bench`, or `SUITE/NAME` of a suite's own) and arguments.

    `deadline` is in seconds of the guest's clock, `busy` in CPU seconds of the program. Under icount the clock of a guest that
    waits for its host runs ahead by hours, so that only the CPU time shows how long a case has worked. `window` are the numbers of its
    readings after which what it measures begins and ends; (0, 0) of a program that takes none.
    """

    name: str
    deadline: int
    busy: int
    arguments: tuple[str, ...]
    program: str = "bench"
    window: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmKernel:
    """What is started for an arm: the folder of its image, the configuration of a kernel that does not show its own, options with which
    it is refused, further arguments of the kernel, what is written into which of the guest's files before the first case, and how what
    its guests execute is counted, if it is.
    """

    folder: Path
    config: Path | None = None
    forbidden: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    writes: Mapping[str, str] = field(default_factory=dict)
    counting: Counting | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BootOrder:
    """All that one start of a guest needs.

    `argv` gives the call that starts the guest with further arguments of its kernel, isolation and limits on what it writes included;
    `limits` say when it is ended.
    """

    kernel: ArmKernel
    programs: GuestPrograms
    cases: tuple[GuestCase, ...]
    shape: GuestShape
    limits: GuestLimits
    sandbox: Sandbox
    argv: Callable[[GuestFolders, Sequence[str]], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootEnd:
    """How a start of a guest ended; "starved" is the host's doing, which did not get it run in half a day.

    `last_case` is the case that had begun and not ended. `evidence` is the end of the console or what the guest refused.
    `unexpected_files` names what the guest left and the agent does not write, or only partly: it was left out.
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

    The guest writes into a folder of its own, which is gone afterwards: what it wrote of the agent's files is copied to `folder`
    (guest/, cases/, dmesg) once it has ended, beside the console. Raises OSError where the host cannot write them,
    FileNotFoundError where a program is missing.
    """
    folder = folder.absolute()  # a guest without isolation is started in /
    folder.mkdir(parents=True, exist_ok=True)
    written = folder.with_name(f"{folder.name}.guest")
    written.mkdir()
    with tempfile.TemporaryDirectory(prefix="cliffwatch-boot-") as temporary:
        given = _write_input(Path(temporary) / "input", order)
        monitor = Path(temporary) / "monitor"
        monitor.mkdir()
        Path(temporary).chmod(0o755)
        for each in (written, monitor):
            order.sandbox.give(each)
        counting = order.kernel.counting
        folders = GuestFolders(
            kernel=order.kernel.folder, input=given, results=written, monitor=monitor, counting=counting
        )
        watch = GuestWatch(written, order.limits, on_case, should_stop)
        console = folder / "console"
        with (
            closing(_names(order, monitor, written)) as names,
            closing(_Metering(order.shape, monitor, watch)) as metering,
            guarded(_host_limits(order), [written], user=order.sandbox.uid, niceness=0) as guard,
        ):

            def begin(process_id: int) -> None:
                metering.begin(process_id)
                guard.begin(process_id)
                names.begin()

            ended = process.run(
                guard.argv(order.argv(folders, order.kernel.arguments)),
                env=order.sandbox.environment(),
                deadline=math.inf,
                log=process.Log(console, LARGEST_CONSOLE_BYTES),
                on_start=begin,
                on_output=watch.heard,
                should_stop=lambda: watch.should_stop() or guard.should_stop(),
            )
            limit = guard.failure("the emulator")
        if counting is not None:
            take_counts(monitor, folder)
            names.write(folder)
    too_much = watch.too_much or beyond_limits(written)
    taken = take_guest_files(written, folder, guest_file_names(order.cases))
    kept = _not_removed(written)
    return _end(folder, ended, watch, _LeftBehind(taken=taken, too_much=too_much, kept=kept, limit=limit))


def _names(order: BootOrder, monitor: Path, written: Path) -> NameWatch:
    counting = order.kernel.counting
    symbol = None if counting is None else counting.names
    return NameWatch(None if symbol is None else BpfNames(monitor, symbol), written)


def _not_removed(written: Path) -> tuple[str, ...]:
    """Removes what a guest wrote; its name where that cannot be done, for the record."""
    try:
        remove_tree(written)
    except OSError:
        return (f"{written.name} (cannot be removed)",)
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _LeftBehind:
    """What a guest left: what was taken of it, what it made too much of, what could not be removed, and the limit of the host's at
    which its emulator was ended.
    """

    taken: Taken
    too_much: str | None
    kept: tuple[str, ...]
    limit: Failure | None


def _host_limits(order: BootOrder) -> SandboxLimits:
    """An emulator's: its guest's memory and half of it again, and no time, which the watch has an eye on."""
    memory = (order.shape.memory_mib << 20) * 3 // 2 + _EMULATOR_BYTES
    return replace(host_limits(math.inf), memory_bytes=memory, disk_bytes=_GUEST_DISK_BYTES)


def guest_file_names(cases: Sequence[GuestCase]) -> tuple[str, ...]:
    """All that the agent writes into its folder."""
    return (*_FILES, *(f"cases/{case.name}.{kind}" for case in cases for kind in _OF_A_CASE))


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
    agent = files("cliffwatch_runner.guest") / "agent.sh"
    (folder / "agent.sh").write_text(agent.read_text())
    (folder / "cases").write_text("".join(map(_row, order.cases)))
    (folder / "forbidden").write_text("".join(f"{symbol}=[ym]\n" for symbol in order.kernel.forbidden))
    (folder / "wanted").write_text("".join(f"{what} {value}\n" for what, value in order.shape.wanted().items()))
    settings = [f"{path}\t{value}\n" for path, value in order.kernel.writes.items()]
    (folder / "settings").write_text("".join(settings))
    if order.kernel.config is not None:
        shutil.copyfile(order.kernel.config, folder / "config")
    order.programs.put_into(folder)
    if order.kernel.counting is not None:
        put_into(folder, order.kernel.counting, [case.window for case in order.cases])
    open_to_read(folder)
    return folder


def _row(case: GuestCase) -> str:
    """A line of the agent's list; arguments are quoted for its shell."""
    return f"{case.name}\t{case.deadline}\t{case.busy}\t{case.program}\t{shlex.join(case.arguments)}\n"


def _end(folder: Path, ended: process.Finished, watch: GuestWatch, left: _LeftBehind) -> BootEnd:
    console = read_guest_file(folder, "console") or ""
    dmesg = read_guest_file(folder, "dmesg")
    splats = find_splats(dmesg or console)
    refused = read_guest_file(folder, "refused", limit=4096)
    last_case = read_guest_file(folder, "current", limit=200)
    status = _status(folder, watch, refused=refused, splats=splats)
    if left.limit is not None and watch.reason is None:
        status = "starved" if left.limit.whose == "host" else "too-much-output"
    elif status == "complete" and (left.too_much is not None or left.taken.cut):
        status = "too-much-output"
    return BootEnd(
        status=status,
        seconds=ended.seconds,
        last_case=last_case.strip() if last_case else None,
        splats=splats,
        evidence=_evidence(status, refused, splats, console, left),
        unexpected_files=(*left.taken.left_out, *left.kept),
    )


def _status(folder: Path, watch: GuestWatch, *, refused: str | None, splats: tuple[Splat, ...]) -> BootStatus:
    if watch.reason is not None:
        return watch.reason
    if refused:
        return "refused"
    if any(splat.panic for splat in splats):
        return "panic"
    return "complete" if read_guest_file(folder, "done") is not None else "lost"


def _evidence(
    status: BootStatus, refused: str | None, splats: tuple[Splat, ...], console: str, left: _LeftBehind
) -> str:
    if status == "complete":
        return ""
    if status == "refused":
        return refused or ""
    if left.limit is not None:
        return "\n".join([left.limit.message, *console.splitlines()[-30:]])
    if splats:
        return splats[0].text
    tail = console.splitlines()[-30:]
    if status == "too-much-output":
        return "\n".join([left.too_much or "a file that the guest wrote is larger than it may be", *tail])
    return "\n".join(tail)
