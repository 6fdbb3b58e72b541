"""Each CPU of a guest runs on the host CPU that was chosen for it before anything is measured."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cliffwatch_runner.guest.pinning import Pinning

GUEST = """
import sys, threading
def work(name):
    open("/proc/thread-self/comm", "w").write(name)
    started.release()
    sys.stdin.read()
started = threading.Semaphore(0)
for name in sys.argv[1:]:
    threading.Thread(target=work, args=(name,), daemon=True).start()
    started.acquire()
print("started", flush=True)
sys.stdin.read()
"""
"""A process with threads of these names, as QEMU is."""


@pytest.fixture
def guest(request: pytest.FixtureRequest) -> Iterator[int]:
    argv = [sys.executable, "-c", GUEST, *request.param]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"started\n"
        yield child.pid


def affinities(process: int) -> dict[str, set[int]]:
    """By name of the thread, without the first one, which runs no CPU of the guest."""
    tasks = [each for each in Path(f"/proc/{process}/task").iterdir() if each.name != str(process)]
    return {(each / "comm").read_text().strip(): os.sched_getaffinity(int(each.name)) for each in tasks}


LAST = max(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    "guest", [("CPU 0/KVM", "IO mon_iothread"), ("CPU 0/TCG", "IO mon_iothread")], indirect=True
)
def test_the_thread_of_a_cpu_is_pinned_and_the_others_are_left_alone(guest: int) -> None:
    pinning = Pinning((LAST,))
    pinning.look()
    pinning.begin(os.getpid())
    pinning.look()
    pinning.finish()
    seen = affinities(guest)

    assert seen.pop("IO mon_iothread") == os.sched_getaffinity(0)
    assert list(seen.values()) == [{LAST}]


@pytest.mark.parametrize("guest", [("CPU 0/KVM",)], indirect=True)
def test_what_cannot_be_pinned_is_not_measured(guest: int) -> None:
    pinning = Pinning((LAST, 4094))
    pinning.begin(guest)

    with pytest.raises(OSError, match="no thread of the guest could be pinned to CPU 4094"):
        pinning.finish()


@pytest.mark.parametrize("guest", [("CPU 0/KVM",)], indirect=True)
def test_a_guest_that_is_not_pinned_runs_where_the_host_puts_it(guest: int) -> None:
    pinning = Pinning(())
    pinning.begin(guest)
    pinning.finish()

    assert affinities(guest) == {"CPU 0/KVM": os.sched_getaffinity(0)}
