"""Reads from /proc which processes a sandbox has, for hosts without control groups, and ends them."""

import os
import resource
import select
import signal
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cliffwatch_runner import clock
from cliffwatch_runner.host.capacity import threads_running
from cliffwatch_runner.process import process_folders

_PROC = Path("/proc")
_PAGE = resource.getpagesize()
_SECONDS = 120.0
_GRACE_SECONDS = 1.0
_PAUSE = 0.02
_SAMPLE = 64
_DESCENDANTS = 8
"""Number of processes examined for the first process of a namespace. bubblewrap's is its child."""

_LINKS_OF_A_FOLDER = 2
"""Link count of a process's `task` folder without threads (proc(5)); each thread adds one."""


@dataclass(frozen=True, slots=True)
class SandboxProcess:
    """One process. `number` and `started` together identify it: the kernel reuses numbers."""

    number: int
    """Pid."""
    started: int
    """Start time in clock ticks since the host booted."""
    parent: int
    """Pid of the parent."""
    session: int
    threads: int
    resident: int
    """Resident memory in bytes."""
    alive: bool
    """False for a zombie."""


def process_of(number: int, proc: Path = _PROC) -> SandboxProcess | None:
    """Returns the process with a pid; None if there is none."""
    try:
        text = (proc / str(number) / "stat").read_bytes()
    except OSError:
        return None
    # Fields as proc_pid_stat(5) counts them, from behind the name on, which may hold anything.
    fields = text[text.rindex(b")") + 2 :].split()
    return SandboxProcess(
        number=number,
        started=int(fields[19]),
        parent=int(fields[1]),
        session=int(fields[3]),
        threads=int(fields[17]),
        resident=int(fields[21]) * _PAGE,
        alive=fields[0] not in (b"Z", b"X"),
    )


def find_members(
    root: SandboxProcess, known: Collection[SandboxProcess] = (), proc: Path = _PROC
) -> dict[int, SandboxProcess]:
    """Returns the processes that `root` started, including itself, by pid.

    Processes in a process namespace stay descendants of its first process. Without such a namespace an orphan
    moves to the host's init. It still counts if it is in `root`'s session or was `known`, and so do its
    children.
    """
    by_number = {member.number: member for member in _processes(proc)}
    children = defaultdict(list)
    for member in by_number.values():
        children[member.parent].append(member.number)
    seen = {member.number: member.started for member in (root, *known)}
    waiting = [number for number, member in by_number.items() if seen.get(number) == member.started]
    if root.number not in by_number or root.number in waiting:
        # The kernel gives the number to nobody else as long as the session has anybody in it.
        waiting += [number for number, member in by_number.items() if member.session == root.number]
    tree: dict[int, SandboxProcess] = {}
    while waiting:
        number = waiting.pop()
        if number not in tree:
            tree[number] = by_number[number]
            waiting.extend(children[number])
    return tree


def threads_of(user: int, proc: Path = _PROC) -> int:
    """Counts the processes and threads of a user, as RLIMIT_NPROC does."""
    count = 0
    for folder in process_folders(proc):
        about = _status(folder)
        if _real_user(about) == user:
            count += int(about[b"Threads"])
    return count


def threads_of_others(user: int, proc: Path = _PROC) -> int:
    """Counts the processes and threads of the host that do not belong to this user.

    In a container /proc/loadavg counts all processes of the host, but /proc lists only the container's. The
    difference belongs to others.
    """
    # Read first: what a bomb starts meanwhile must not pass for somebody else's.
    running = threads_running(proc)
    ours = 0
    for folder in process_folders(proc):
        with suppress(OSError):
            if _is_of(user, folder):
                ours += (folder / "task").stat().st_nlink - _LINKS_OF_A_FOLDER
    return running - ours


def latest_are_ours(user: int, count: int, proc: Path = _PROC) -> bool:
    """True if at least half of the last `count` processes and threads still run and belong to this user.

    Checks a sample in a few milliseconds. Next to a fork bomb, looking at all of them takes seconds.
    """
    latest = int((proc / "loadavg").read_text().split()[4])
    largest = int((proc / "sys/kernel/pid_max").read_text())
    sample = range(0, count, max(1, count // _SAMPLE))
    ours = 0
    for back in sample:
        with suppress(OSError):
            ours += _is_of(user, proc / str((latest - back) % largest))
    return ours * 2 >= len(sample)


def _is_of(user: int, folder: Path) -> bool:
    """True if a process belongs to this user. Raises OSError if the process is gone.

    Root owns the folder of a process that is not dumpable (proc_pid(5)), so its status is read instead.
    """
    owner = folder.stat().st_uid
    return owner == user or (owner == 0 and _real_user(_status(folder)) == user)


def _status(folder: Path) -> dict[bytes, bytes]:
    """Returns the fields of a process's status (proc_pid_status(5)); empty if the process is gone."""
    try:
        text = (folder / "status").read_bytes()
    except OSError:
        return {}
    return dict(line.split(b":\t", 1) for line in text.splitlines() if b":\t" in line)


def _real_user(status: dict[bytes, bytes]) -> int | None:
    return int(status[b"Uid"].split()[0]) if b"Uid" in status else None


def send(member: SandboxProcess, number: signal.Signals, proc: Path = _PROC) -> None:
    """Sends a signal to exactly this process, never to a later one with the same pid."""
    try:
        descriptor = os.pidfd_open(member.number)
    except OSError:
        return
    try:
        now = process_of(member.number, proc)
        if now is not None and now.started == member.started:
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return
    finally:
        os.close(descriptor)


def end_tree(root: SandboxProcess, known: Collection[SandboxProcess] = ()) -> int:
    """Ends `root` and all processes that it started.

    Returns how many threads they had, as far as still visible.

    Killing the first process of a process namespace makes the kernel end all of them at once. `root` gets
    SIGTERM, so that a container client ends its container. All other processes are stopped before any is
    killed, because a fork bomb starts them faster than they can be killed.
    """
    began = clock.monotonic()
    stopped: set[tuple[int, int]] = set()
    threads = 0
    _end_namespaces(root.number, _SECONDS)
    send(root, signal.SIGTERM)
    while (passed := clock.monotonic() - began) < _SECONDS:
        tree = find_members(root, known)
        known = tree.values()
        threads = max(threads, sum(member.threads for member in known))
        if not any(member.alive for member in known):
            break
        terminating = root.number if passed < _GRACE_SECONDS else 0
        living = [member for member in known if member.alive and member.number != terminating]
        fresh = [member for member in living if (member.number, member.started) not in stopped]
        for member in fresh or living:
            send(member, signal.SIGSTOP if fresh else signal.SIGKILL)
        stopped.update((member.number, member.started) for member in fresh)
        clock.pause(_PAUSE)
    return threads


def _end_namespaces(root: int, seconds: float) -> None:
    """Ends the process namespaces that this process or its first descendants created.

    Waits for the first process of each, because it ends last.
    """
    waiting = [root]
    for _ in range(_DESCENDANTS):
        if not waiting:
            return
        number = waiting.pop(0)
        descriptor = _first_in_a_namespace(number)
        if descriptor is None:
            waiting.extend(_children(number))
            continue
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            select.select([descriptor], [], [], seconds)
        except OSError:
            continue
        finally:
            os.close(descriptor)


def _first_in_a_namespace(number: int, proc: Path = _PROC) -> int | None:
    """Opens a pidfd of this process if it is the first of a process namespace (NSpid in proc_pid_status(5)).

    Returns None otherwise.
    """
    try:
        descriptor = os.pidfd_open(number)
    except OSError:
        return None
    with suppress(OSError):
        for line in (proc / str(number) / "status").read_text(errors="replace").splitlines():
            name, *numbers = line.split()
            if name == "NSpid:" and len(numbers) > 1 and numbers[-1] == "1":
                return descriptor
    os.close(descriptor)
    return None


def _children(number: int, proc: Path = _PROC) -> list[int]:
    """Returns the pids of a process's children; empty if the kernel does not list them."""
    try:
        return [int(word) for word in (proc / f"{number}/task/{number}/children").read_text().split()]
    except OSError:
        return []


def _processes(proc: Path) -> Iterator[SandboxProcess]:
    for folder in process_folders(proc):
        member = process_of(int(folder.name), proc)
        if member is not None:
            yield member
