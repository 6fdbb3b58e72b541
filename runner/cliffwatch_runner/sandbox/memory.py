"""Reads the memory use of a sandbox's processes from /proc, for hosts without control groups."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from cliffwatch_runner.sandbox.process_tree import SandboxProcess

_PROC = Path("/proc")
_IN_FLIGHT = re.compile(r"(?m)^scm_fds:\s*+[1-9]")


def memory_used(tree: Iterable[SandboxProcess], limit: int, proc: Path = _PROC) -> int:
    """Returns the bytes of memory that these processes use, exact only above the limit.

    Below it, pages that processes share are counted several times. Counting them once takes long.
    """
    each = {member.number: member.resident for member in tree}
    total = sum(each.values())
    for number in sorted(each, key=lambda number: -each[number]):
        if total <= limit:
            break
        total += _proportional(proc / str(number), each[number]) - each[number]
    return total


def in_memory_files(tree: Iterable[SandboxProcess], proc: Path = _PROC) -> int:
    """Returns the bytes in the sandbox's in-memory file systems (/tmp, /dev/shm), which belong to no process.

    All processes of a sandbox have the same mounts, so the first process with mounts other than ours shows
    them.
    """
    ours = dict(_memory_mounts(proc / "self"))
    for member in tree:
        folder = proc / str(member.number)
        own = {device: path for device, path in _memory_mounts(folder) if device not in ours}
        if own:
            return sum(_used_bytes(f"{folder}/root{path}") for path in own.values())
    return 0


def shared_memory(tree: Iterable[SandboxProcess], most: int, proc: Path = _PROC) -> int:
    """Returns the bytes of fileless memory that these processes share, beyond their resident memory.

    The result is at most `most`. It is `most` if a process hides its mappings, or has sent a descriptor that
    nobody has received yet. Fileless memory (MAP_SHARED of /dev/zero or anonymous; memfds, of which libbpf
    creates one per map) persists when a process gives its pages back (MADV_DONTNEED) or never maps them. It
    is then resident in no process.
    """
    objects: dict[int, int] = {}
    resident = 0
    for member in tree:
        folder = proc / str(member.number)
        try:
            lines = (folder / "maps").read_bytes().splitlines()
            held = _held_files(folder)
        except PermissionError:
            return most
        except OSError:
            continue
        if held is None:
            return most
        resident += _of_smaps(folder, "Pss_Shmem:") or 0
        for inode, size in [*held, *_mapped_memory(lines)]:
            objects[inode] = max(objects.get(inode, 0), size)
    return min(most, max(0, sum(objects.values()) - resident))


def _mapped_memory(lines: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """Yields inode and bytes of each fileless shared mapping in the lines of /proc/PID/maps."""
    for line in lines:
        if b" /dev/zero (deleted)" in line or b" /memfd:" in line:
            span, _, offset, _, inode = line.split()[:5]
            start, end = (int(bound, 16) for bound in span.split(b"-"))
            yield int(inode), int(offset, 16) + end - start


def _held_files(folder: Path) -> list[tuple[int, int]] | None:
    """Returns inode and bytes of each memfd that a process has open; None if a descriptor is in flight.

    A descriptor is in flight if one of the process's sockets holds it and nobody has received it.
    """
    held = []
    for descriptor in (folder / "fd").iterdir():
        with suppress(FileNotFoundError):
            named = str(descriptor.readlink())
            if named.startswith("/memfd:"):
                about = descriptor.stat()
                held.append((about.st_ino, about.st_blocks * 512))
            elif named.startswith("socket:") and _IN_FLIGHT.search(
                (folder / "fdinfo" / descriptor.name).read_text()
            ):
                return None
    return held


def _proportional(folder: Path, resident: int) -> int:
    """Returns the process's proportional share of its memory.

    If the share cannot be read, all of its resident memory counts.
    """
    share = _of_smaps(folder, "Pss:")
    return resident if share is None else share


def _of_smaps(folder: Path, name: str) -> int | None:
    with suppress(OSError):
        for line in (folder / "smaps_rollup").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) << 10
    return None


def _used_bytes(path: str) -> int:
    try:
        about = os.statvfs(path)
    except OSError:
        return 0
    return (about.f_blocks - about.f_bfree) * about.f_frsize


def _memory_mounts(folder: Path) -> list[tuple[str, str]]:
    """Returns device and path of each tmpfs that a process sees."""
    mounts = []
    with suppress(OSError):
        for line in (folder / "mountinfo").read_text(errors="replace").splitlines():
            fields = line.split()
            if fields[fields.index("-") + 1] == "tmpfs":
                mounts.append((fields[2], fields[4]))
    return mounts
