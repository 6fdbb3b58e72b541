"""Limits for untrusted code on this host: memory, processes, disk and time."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cliffwatch.counting import parse_size, size_text
from cliffwatch.failure import Failure, host_failed, kernel_failed, wrong_usage
from cliffwatch_runner.host.capacity import meminfo_bytes
from cliffwatch_runner.sandbox.control_groups import make_group

Reason = Literal[
    "memory",
    "processes",
    "disk",
    "spare disk",
    "time",
    "host memory",
    "host processes",
    "host disk",
    "host watcher",
]

_GIB = 1 << 30
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
_NUMBER = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Limits of one sandbox, and the resources that must stay free on the host whoever uses the rest."""

    memory_bytes: int
    processes: int
    """Largest number of processes and threads."""
    disk_bytes: int
    """Bytes by which the writable folders may grow."""
    file_bytes: int
    """Largest size of one file."""
    seconds: float
    """Longest run time."""
    spare_memory: int
    """Bytes of memory that stay free on the host."""
    spare_disk: int
    """Bytes of disk that stay free on the host."""

    def container_arguments(self) -> list[str]:
        """Returns the limits as arguments of a container engine.

        Its daemon starts the processes, so they are in no control group of ours.
        """
        size = str(self.memory_bytes)
        return ["--memory", size, "--memory-swap", size, "--pids-limit", str(self.processes)]


def host_limits(seconds: float, meminfo: Path = Path("/proc/meminfo")) -> SandboxLimits:
    """Returns the limits of a build on this host: enough for any kernel, but never the whole host."""
    total = meminfo_bytes("MemTotal", meminfo) or _GIB
    return SandboxLimits(
        memory_bytes=total * 3 // 4,
        processes=512 + 48 * (os.cpu_count() or 1),
        disk_bytes=40 * _GIB,
        file_bytes=16 * _GIB,
        seconds=seconds,
        spare_memory=min(_GIB // 2, total // 20),
        spare_disk=2 * _GIB,
    )


def change_limits(limits: SandboxLimits, words: Sequence[str]) -> SandboxLimits | Failure:
    """Applies the limits that a user named: `memory=32G`, `processes=8192`, `disk=100G`, `hours=6`."""
    for word in words:
        name, _, value = word.partition("=")
        size = parse_size(value)
        if name == "hours" and _number(value):
            limits = replace(limits, seconds=float(value) * 3600)
        elif name == "processes" and _COUNT.fullmatch(value):
            limits = replace(limits, processes=int(value))
        elif name == "memory" and size:
            limits = replace(limits, memory_bytes=size)
        elif name == "disk" and size:
            limits = replace(limits, disk_bytes=size, file_bytes=min(limits.file_bytes, size))
        else:
            return wrong_usage(
                f"{word!r} is no limit", "write memory=32G, processes=8192, disk=100G or hours=6"
            )
    return limits


def refuse_root(user: int, uid_map: Path = Path("/proc/self/uid_map")) -> Failure | None:
    """Returns why no untrusted code may run as this user; None if it may.

    The kernel does not count processes of the host's root, except in a control group.
    """
    if user != 0 or uid_map.read_text().split()[:2] != ["0", "0"]:
        return None
    group = make_group(_GIB, 64)
    if group is not None:
        group.remove()
        return None
    return host_failed(
        "as root, without control groups, nothing limits how many processes a tree's code starts",
        "run cliffwatch as an ordinary user, or where root may write to /sys/fs/cgroup",
    )


def limit_failure(reason: Reason, limits: SandboxLimits, what: str) -> Failure:
    """Says why `what` ("the build") was ended, and what to do about it."""
    spare = {
        "host memory": f"has less than {size_text(limits.spare_memory)} of memory left",
        "host disk": f"has less than {size_text(limits.spare_disk)} of disk left, or few inodes",
        "host processes": f"runs {limits.processes} processes and threads more than at its beginning",
    }
    if reason in spare:
        return host_failed(
            f"{what} was ended, as this host {spare[reason]}, which others use",
            "end some of them, or wait until they are done",
        )
    if reason == "host watcher":
        return host_failed(
            f"{what} was ended, as the process that watches its limits had ended",
            "run it again; where that happens again, see whether this host is short of memory",
        )
    passed = {
        "memory": f"used more than {size_text(limits.memory_bytes)} of memory",
        "processes": f"had more than {limits.processes} processes and threads",
        "disk": (
            f"filled the disk: {size_text(limits.disk_bytes)} are its share, {size_text(limits.spare_disk)}"
            " stay free"
        ),
        "time": f"did not end within {limits.seconds / 3600:g} hours",
    }[reason]
    raised = {"memory": "memory=SIZE", "processes": "processes=N", "disk": "disk=SIZE", "time": "hours=N"}[
        reason
    ]
    return kernel_failed(
        f"{what} {passed}", f"fix the tree; where it needs as much, allow it with --limit {raised}"
    )


def _number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and float(text) > 0
