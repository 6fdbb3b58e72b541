"""What a host knows of a guest that runs slowly because the host has other work."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cliffwatch_runner.guest.progress import EmulatorMeter, GuestProgress, WallMeter
from cliffwatch_runner.guest.qemu_clock import GuestClock


@contextmanager
def emulator(script: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a process, as an emulator is one in its sandbox."""
    child = subprocess.Popen(["sh", "-c", f"({script}) & wait"], start_new_session=True)
    try:
        yield child
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def after_looks(meter: EmulatorMeter, *, seconds: float, begin: float = 0.0) -> GuestProgress:
    looks = [meter.look(begin + passed) for passed in range(10, int(seconds) + 10, 10)]
    return looks[-1]


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def youngest(child: subprocess.Popen[bytes]) -> int:
    """The process that does the work; it is there once it is."""
    while True:
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with suppress(FileNotFoundError, ProcessLookupError):  # others end meanwhile
                fields = entry.read_text().rpartition(")")[2].split()
                if int(fields[1]) == child.pid:
                    return int(entry.parent.name)


def test_work_is_the_processor_time_of_all_that_was_started(tmp_path: Path) -> None:
    with emulator("while :; do :; done") as child:
        meter = EmulatorMeter(child.pid, GuestClock(tmp_path), 0.0)
        now = 10.0
        while meter.look(now).work < 0.1:
            now += 10.0

        assert meter.guest_clock(now) is None


def test_an_emulator_that_is_stopped_neither_works_nor_idles(tmp_path: Path) -> None:
    with emulator("while :; do :; done") as child:
        worker = youngest(child)
        os.killpg(child.pid, signal.SIGSTOP)
        while state(worker) != "T" or state(child.pid) != "T":
            pass
        meter = EmulatorMeter(child.pid, GuestClock(tmp_path), 0.0)
        first = after_looks(meter, seconds=10)
        later = after_looks(meter, seconds=3600, begin=10)

        assert later.work == first.work
        assert later.idle == 0.0


def test_an_emulator_that_has_nothing_to_run_idles(tmp_path: Path) -> None:
    with emulator("exec sleep 1000") as child:
        worker = youngest(child)
        while state(worker) != "S" or "sleep" not in Path(f"/proc/{worker}/cmdline").read_text():
            pass
        meter = EmulatorMeter(child.pid, GuestClock(tmp_path), 0.0)
        first = after_looks(meter, seconds=10)
        later = after_looks(meter, seconds=600, begin=10)

        assert later.idle - first.idle >= 590


def test_an_emulator_that_has_ended_does_not_idle(tmp_path: Path) -> None:
    with emulator("true") as child:
        child.wait()
        meter = EmulatorMeter(child.pid, GuestClock(tmp_path), 0.0)

        assert after_looks(meter, seconds=60) == GuestProgress(work=0.0, idle=0.0)


def test_in_a_rehearsal_the_guest_has_the_hosts_clock_and_works_only_while_the_host_lets_it() -> None:
    with emulator("sleep 60") as child:
        meter = EmulatorMeter(child.pid, None, 0.0)

        assert after_looks(meter, seconds=60).work < 1
        assert meter.guest_clock(140.0) == 140.0
        meter.close()


def test_under_kvm_the_hosts_time_is_the_guests() -> None:
    meter = WallMeter(100.0)

    assert meter.look(130.0) == GuestProgress(work=30.0, idle=0.0)
    assert meter.guest_clock(140.0) == 140.0
