"""Boots a guest once: starts it, watches it, and collects its files."""

import math
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path

from cliffwatch_runner import clock, process
from cliffwatch_runner.build.cache.entries import open_to_read
from cliffwatch_runner.guest.argv import GuestFolders, GuestShape
from cliffwatch_runner.guest.boot_end import BootEnd, Remains, make_boot_end
from cliffwatch_runner.guest.counting.bpf_names import BpfNames
from cliffwatch_runner.guest.counting.files import take_counts, write_plugin_input
from cliffwatch_runner.guest.counting.monitor import Monitor
from cliffwatch_runner.guest.counting.name_watch import NameSources, NameWatch
from cliffwatch_runner.guest.counting.plugin import Counting
from cliffwatch_runner.guest.counting.user_objects import HEADER_BYTES, UserObjects
from cliffwatch_runner.guest.files import find_exceeded_limit, take_guest_files
from cliffwatch_runner.guest.pinning import Pinning
from cliffwatch_runner.guest.profiling.recording import PROFILE_KINDS, Recording, end_counters
from cliffwatch_runner.guest.programs import GuestPrograms
from cliffwatch_runner.guest.progress import EmulatorMeter, Meter, WallMeter
from cliffwatch_runner.guest.qemu_clock import GuestClock
from cliffwatch_runner.guest.watch import GuestLimits, GuestWatch
from cliffwatch_runner.sandbox.guard import guard_sandbox
from cliffwatch_runner.sandbox.limits import SandboxLimits, host_limits
from cliffwatch_runner.sandbox.sandbox import Sandbox
from cliffwatch_runner.sandbox.untrusted_files import remove_tree

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
    """A case for the guest's agent."""

    name: str
    """Also a file name."""

    deadline: int
    """Seconds of the guest's clock."""

    busy: int
    """Limit in CPU seconds of the program.

    Under icount, the clock of a guest that waits for its host runs ahead by hours. Only CPU time then shows
    how long a case has worked.
    """

    arguments: tuple[str, ...]
    program: str = "bench"
    """`bench`, or `SUITE/NAME` for a suite's own program."""

    window: tuple[int, int] = (0, 0)
    """Numbers of the readings after which the measurement begins and ends; (0, 0) without readings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmGuest:
    """What the guests of an arm boot and run."""

    kernel: Path
    """Folder of the image."""

    programs: GuestPrograms

    config: Path | None = None
    """Configuration, for a kernel without /proc/config.gz."""

    forbidden: tuple[str, ...] = ()
    """Configuration options with which the guest refuses the kernel."""

    arguments: tuple[str, ...] = ()
    """Additional kernel arguments."""

    writes: Mapping[str, str] = field(default_factory=dict)
    """Content by file of the guest, written before the first case."""

    counting: Counting | None = None
    """Instruction counter; None if nothing is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootOrder:
    """Everything that one start of a guest needs."""

    arm: ArmGuest
    cases: tuple[GuestCase, ...]
    shape: GuestShape
    limits: GuestLimits
    """When to end the guest."""

    sandbox: Sandbox
    argv: Callable[[GuestFolders, Sequence[str]], Sequence[str]]
    """Returns the sandboxed call that starts the guest, given the folders and additional kernel arguments."""

    recording: Recording | None = None
    """Records the cases with perf; their values are then not measurements. None to measure."""


def boot_guest(
    order: BootOrder, folder: Path, *, on_case: Callable[[str], None], should_stop: Callable[[], bool]
) -> BootEnd:
    """Starts one guest, and returns when it has ended or was ended.

    The guest writes into a separate folder, which is removed afterwards. Once the guest has ended, the
    agent's files are copied to `folder` (guest/, cases/, dmesg), next to the console. Raises OSError if the
    host cannot write them, FileNotFoundError if a program is missing.
    """
    folder = folder.absolute()  # a guest without isolation starts in /
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
        counting = order.arm.counting
        folders = GuestFolders(
            kernel=order.arm.kernel, input=given, results=written, monitor=monitor, counting=counting
        )
        pinning = Pinning(order.shape.pin)
        watch = GuestWatch(written, order.limits, _case_listener(order, on_case, pinning), should_stop)
        console = folder / "console"
        with (
            closing(_names(order, monitor, written)) as names,
            end_counters(order.recording),
            closing(_Metering(order.shape, monitor, watch)) as metering,
            guard_sandbox(_host_limits(order), [written], user=order.sandbox.uid, niceness=0) as guard,
        ):

            def begin(process_id: int) -> None:
                metering.begin(process_id)
                pinning.begin(process_id)
                guard.begin(process_id)
                names.begin()
                if order.recording is not None:
                    order.recording.host.begin(process_id)

            def must_end() -> bool:
                pinning.look()
                return watch.should_stop() or guard.should_stop()

            ended = process.run(
                guard.argv(order.argv(folders, order.arm.arguments)),
                env=order.sandbox.process_input(),
                deadline=math.inf,
                log=process.Log(console, LARGEST_CONSOLE_BYTES),
                on_start=begin,
                on_output=watch.heard,
                should_stop=must_end,
            )
            limit = guard.failure("the emulator")
        if counting is not None:
            take_counts(monitor, folder)
            names.write(folder)
    too_much = watch.too_much or find_exceeded_limit(written)
    taken = take_guest_files(
        written, folder, guest_file_names(order.cases, recorded=order.recording is not None)
    )
    kept = _remove_written(written)
    return make_boot_end(
        folder, ended, watch, Remains(taken=taken, too_much=too_much, kept=kept, limit=limit)
    )


def _names(order: BootOrder, monitor: Path, written: Path) -> NameWatch:
    counting = order.arm.counting
    if counting is None or counting.names is None:
        return NameWatch(None, written)
    shared = Monitor(monitor)
    objects = UserObjects(shared, order.arm.programs.headers(HEADER_BYTES))
    return NameWatch(NameSources(shared, BpfNames(shared, counting.names, counting.tables), objects), written)


def _remove_written(written: Path) -> tuple[str, ...]:
    """Removes the folder that the guest wrote. If that fails, returns its name for the record."""
    try:
        remove_tree(written)
    except OSError:
        return (f"{written.name} (cannot be removed)",)
    return ()


def _host_limits(order: BootOrder) -> SandboxLimits:
    """Returns the emulator's limits.

    Memory: 1.5 times the guest's, plus 2 GiB. Time: none; the watch checks it.
    """
    memory = (order.shape.memory_mib << 20) * 3 // 2 + _EMULATOR_BYTES
    return replace(host_limits(math.inf), memory_bytes=memory, disk_bytes=_GUEST_DISK_BYTES)


def guest_file_names(cases: Sequence[GuestCase], *, recorded: bool = False) -> tuple[str, ...]:
    """Returns the names of all files that the agent writes; if `recorded`, with those of perf."""
    kinds = (*_OF_A_CASE, *(PROFILE_KINDS if recorded else ()))
    return (*_FILES, *(f"cases/{case.name}.{kind}" for case in cases for kind in kinds))


def _case_listener(
    order: BootOrder, on_case: Callable[[str], None], pinning: Pinning
) -> Callable[[str], None]:
    def begins(name: str) -> None:
        pinning.finish()
        if order.recording is not None:
            order.recording.host.case_begins(name)
        on_case(name)

    return begins


class _Metering:
    """Starts a watch with the meter of the guest's mode, once the guest's process is known."""

    def __init__(self, shape: GuestShape, monitor: Path, watch: GuestWatch) -> None:
        self._shape = shape
        self._monitor = monitor
        self._watch = watch
        self._meter: Meter | None = None

    def begin(self, process_id: int) -> None:
        now = clock.monotonic()
        if self._shape.is_emulated:
            guest = GuestClock(self._monitor) if self._shape.mode == "icount" else None
            self._meter = EmulatorMeter(process_id, guest, now)
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
    (folder / "forbidden").write_text("".join(f"{symbol}=[ym]\n" for symbol in order.arm.forbidden))
    (folder / "wanted").write_text(
        "".join(f"{what} {value}\n" for what, value in order.shape.wanted().items())
    )
    settings = [f"{path}\t{value}\n" for path, value in order.arm.writes.items()]
    (folder / "settings").write_text("".join(settings))
    if order.arm.config is not None:
        shutil.copyfile(order.arm.config, folder / "config")
    order.arm.programs.put_into(folder)
    if order.recording is not None:
        order.recording.put_into(folder)
    if order.arm.counting is not None:
        write_plugin_input(folder, order.arm.counting, [case.window for case in order.cases])
    open_to_read(folder)
    return folder


def _row(case: GuestCase) -> str:
    """Returns a line of the agent's list of cases. Arguments are quoted for its shell."""
    return f"{case.name}\t{case.deadline}\t{case.busy}\t{case.program}\t{shlex.join(case.arguments)}\n"
