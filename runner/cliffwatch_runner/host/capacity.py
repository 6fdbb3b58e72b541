"""Measures the host's free memory, disk space and room for processes."""

import os
import sys
from pathlib import Path

from cliffwatch_runner import process

_MEASURE_SECONDS = 10.0


def free_disk(folder: Path) -> int:
    """Returns the bytes that an ordinary user may still write on the file system of `folder`.

    If the file system has no size (ramfs), returns sys.maxsize.
    """
    about = os.statvfs(folder)
    if about.f_blocks == 0:
        return sys.maxsize
    return about.f_bavail * about.f_frsize


def is_short_of_inodes(folder: Path) -> bool:
    """True if a file system with a fixed number of inodes has fewer than 2 % of them left."""
    about = os.statvfs(folder)
    return about.f_favail * 50 < about.f_files


def size_below(folder: Path) -> int:
    """Returns the disk usage below `folder` in bytes; if du takes too long, that of the whole file system."""
    done = process.run(["du", "-sxB1", "--", str(folder)], deadline=_MEASURE_SECONDS, keep=4096)
    size = done.output.splitlines()[-1].split("\t")[0] if done.output.strip() else ""
    if size.isdecimal() and not done.timed_out:
        return int(size)
    about = os.statvfs(folder)
    return (about.f_blocks - about.f_bfree) * about.f_frsize


def threads_running(proc: Path = Path("/proc")) -> int:
    """Returns the number of processes and threads on the host, in all containers (proc_loadavg(5))."""
    return int((proc / "loadavg").read_text().split()[3].split("/")[1])


def meminfo_bytes(name: str, path: Path = Path("/proc/meminfo")) -> int | None:
    """Returns a value of /proc/meminfo in bytes; None if it is missing."""
    for line in path.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    return None
