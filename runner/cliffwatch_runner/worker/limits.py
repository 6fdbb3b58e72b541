"""What a job may use of its host, for the tree that it builds is anybody's."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cliffwatch_runner.host.capacity import few_inodes
from cliffwatch_runner.sandbox.limits import host_limits

_GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """`seconds` of a job; bytes of one file; bytes that must stay free on the disks and in memory, or the job is ended.

    What a tree's code uses is limited where it runs (cliffwatch_runner.sandbox.guard). A systemd scope around the whole job
    holds it to `memory` bytes and `processes` besides, so that its builds and guests together leave the host its share.
    """

    seconds: float = 8 * 3600.0
    memory: int = field(default_factory=lambda: host_limits(0.0).memory_bytes)
    processes: int = 4096
    file: int = 16 * _GIB
    free_disk: int = 5 * _GIB
    free_memory: int = _GIB // 2

    def argv(self, command: Sequence[str]) -> list[str]:
        """The command under its limits."""
        # A worker that is killed takes its job along: the next one would otherwise find it still at work.
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

    def exceeded(self, folders: Sequence[Path], seconds: float) -> str | None:
        """Which limit a job that runs for `seconds` has passed, in words."""
        if seconds > self.seconds:
            return f"the job took longer than {self.seconds / 3600:.1f} hours"
        for folder in folders:
            free = shutil.disk_usage(folder).free
            if free < self.free_disk:
                return f"only {free / _GIB:.1f} GiB are left on the disk of {folder}"
            if self.free_disk and few_inodes(folder):
                return f"hardly any inodes are left on the disk of {folder}: remove small files"
        memory = _free_memory()
        if memory is not None and memory < self.free_memory:
            return f"only {memory / _GIB:.2f} GiB of memory are left"
        return None


def _scope(root: Path, user: int) -> list[str] | None:
    """How systemd starts a job in a scope of its own: root's by the system, a user's where he has a systemd of his own."""
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
