"""How much room this host has, in memory, on its disks and for processes."""

import os
import sys
from pathlib import Path

from cliffwatch_runner import process

_MEASURE_SECONDS = 10.0


def free_disk(folder: Path) -> int:
    """Bytes that an ordinary user may still write where `folder` lies; no end of them where a file system has
    no size to say (ramfs).
    """
    about = os.statvfs(folder)
    if about.f_blocks == 0:
        return sys.maxsize
    return about.f_bavail * about.f_frsize


def is_short_of_inodes(folder: Path) -> bool:
    """Whether files, however small, use up a file system that has a fixed number of them."""
    about = os.statvfs(folder)
    return about.f_favail * 50 < about.f_files


def size_below(folder: Path) -> int:
    """Bytes on the disk below `folder`, at most the whole disk's where that could not be measured in time."""
    done = process.run(["du", "-sxB1", "--", str(folder)], deadline=_MEASURE_SECONDS, keep=4096)
    size = done.output.splitlines()[-1].split("\t")[0] if done.output.strip() else ""
    if size.isdecimal() and not done.timed_out:
        return int(size)
    about = os.statvfs(folder)
    return (about.f_blocks - about.f_bfree) * about.f_frsize


def threads_running(proc: Path = Path("/proc")) -> int:
    """All processes and threads of the host (proc_loadavg(5)), those that a container does not see among
    them.
    """
    return int((proc / "loadavg").read_text().split()[3].split("/")[1])


def meminfo_bytes(name: str, path: Path = Path("/proc/meminfo")) -> int | None:
    """One value of /proc/meminfo."""
    for line in path.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    return None
