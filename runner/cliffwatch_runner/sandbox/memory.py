"""The memory of a sandbox's processes, read from /proc: for hosts whose kernel does not limit it (no control
groups).
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from cliffwatch_runner.sandbox.process_tree import SandboxProcess

_PROC = Path("/proc")
_UNDER_WAY = re.compile(r"(?m)^scm_fds:\s*+[1-9]")


def memory_used(tree: Iterable[SandboxProcess], limit: int, proc: Path = _PROC) -> int:
    """Bytes of memory of these processes. Exact only above the limit: shared pages are then counted once,
    which takes long.
    """
    each = {member.number: member.resident for member in tree}
    total = sum(each.values())
    for number in sorted(each, key=lambda number: -each[number]):
        if total <= limit:
            break
        total += _proportional(proc / str(number), each[number]) - each[number]
    return total


def in_memory_files(tree: Iterable[SandboxProcess], proc: Path = _PROC) -> int:
    """Bytes in the sandbox's own file systems in memory (/tmp, /dev/shm): they are no process's.

    All of a sandbox's processes have one view, which the first of them that has another than ours shows.
    """
    ours = dict(_memory_mounts(proc / "self"))
    for member in tree:
        folder = proc / str(member.number)
        own = {device: path for device, path in _memory_mounts(folder) if device not in ours}
        if own:
            return sum(_used_bytes(f"{folder}/root{path}") for path in own.values())
    return 0


def shared_memory(tree: Iterable[SandboxProcess], most: int, proc: Path = _PROC) -> int:
    """Bytes of memory that these processes share without a file, beyond what is resident in each: at most
    `most`, and as much where one of them hides its mappings, or has sent a descriptor that nobody has
    received.

    Such memory (MAP_SHARED of /dev/zero, or of nothing; a memfd, which libbpf makes one of for each map)
    stays when a process gives its pages back (MADV_DONTNEED) or never maps them, and is then resident in
    none.
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
    """Inodes and bytes of what /proc/PID/maps has of memory without a file."""
    for line in lines:
        if b" /dev/zero (deleted)" in line or b" /memfd:" in line:
            span, _, offset, _, inode = line.split()[:5]
            start, end = (int(bound, 16) for bound in span.split(b"-"))
            yield int(inode), int(offset, 16) + end - start


def _held_files(folder: Path) -> list[tuple[int, int]] | None:
    """Inodes and bytes of the memfds that a process has descriptors of; None where a descriptor is under way
    in one of its sockets.
    """
    held = []
    for descriptor in (folder / "fd").iterdir():
        with suppress(FileNotFoundError):
            named = str(descriptor.readlink())
            if named.startswith("/memfd:"):
                about = descriptor.stat()
                held.append((about.st_ino, about.st_blocks * 512))
            elif named.startswith("socket:") and _UNDER_WAY.search(
                (folder / "fdinfo" / descriptor.name).read_text()
            ):
                return None
    return held


def _proportional(folder: Path, resident: int) -> int:
    """The process's share of its memory; all of it where it keeps that to itself."""
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
    """Device and path of each tmpfs in a process's view."""
    mounts = []
    with suppress(OSError):
        for line in (folder / "mountinfo").read_text(errors="replace").splitlines():
            fields = line.split()
            if fields[fields.index("-") + 1] == "tmpfs":
                mounts.append((fields[2], fields[4]))
    return mounts
