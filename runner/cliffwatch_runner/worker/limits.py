"""Limits what a job may use of its host, because it builds untrusted trees."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner.host.capacity import is_short_of_inodes
from cliffwatch_runner.sandbox.limits import host_limits

_GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """Limits of a job. It is ended if it exceeds one.

    A tree's code is limited where it runs (cliffwatch_runner.sandbox.guard). `memory` and `processes` also
    apply to a systemd scope around the whole job, so that builds and guests together leave the host enough.
    """

    seconds: float = 8 * 3600.0
    """Duration."""

    memory: int = field(default_factory=lambda: host_limits(0.0).memory_bytes)
    """Bytes."""

    processes: int = 4096
    file: int = 16 * _GIB
    """Bytes per file."""

    free_disk: int = 5 * _GIB
    """Bytes that must stay free on each disk."""

    free_memory: int = _GIB // 2
    """Bytes of memory that must stay free."""

    def argv(self, command: Sequence[str]) -> list[str]:
        """Returns the command with its limits."""
        # If the worker is killed, so is its job. Otherwise the next worker would find it still running.
        each = [
            "setpriv",
            "--pdeathsig",
            "TERM",
            "prlimit",
            f"--fsize={self.file}",
            "--core=0",
            *command,
        ]
        scope = _scope(Path("/"), os.geteuid())
        if scope is not None:
            return [
                *scope,
                f"--property=MemoryMax={self.memory}",
                f"--property=TasksMax={self.processes}",
                "--",
                *each,
            ]
        return each

    def exceeded(self, folders: Sequence[Path], seconds: float) -> Failure | None:
        """Returns which limit a job that has run for `seconds` exceeds."""
        if seconds > self.seconds:
            return host_failed(
                f"the job took longer than {self.seconds / 3600:.1f} hours", "ask for fewer suites or boots"
            )
        for folder in folders:
            free = shutil.disk_usage(folder).free
            if free < self.free_disk:
                return host_failed(
                    f"only {free / _GIB:.1f} GiB left on the disk of {folder}",
                    "make room, for example with `cliffwatch cache prune`",
                )
            if self.free_disk and is_short_of_inodes(folder):
                return host_failed(f"hardly any inodes left on the disk of {folder}", "remove small files")
        memory = _free_memory()
        if memory is not None and memory < self.free_memory:
            return host_failed(f"only {memory / _GIB:.2f} GiB of memory left", "end other programs")
        return None


def _scope(root: Path, user: int) -> list[str] | None:
    """Returns the command that starts a job in a systemd scope: root's in the system, a user's in its own
    systemd.

    None if there is no such systemd.
    """
    if not (root / "run/systemd/system").is_dir() or shutil.which("systemd-run") is None:
        return None
    start = ["systemd-run", "--scope", "--quiet", "--collect"]
    if user == 0:
        return start
    runtime = Path("run/user") / str(user)
    return (
        ["env", f"XDG_RUNTIME_DIR=/{runtime}", *start, "--user"]
        if (root / runtime / "bus").exists()
        else None
    )


def _free_memory() -> int | None:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return None
