"""Builds the program that runs BPF objects by BPF_PROG_RUN, with the tree's libbpf."""

from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner.build.outputs import MIB, Output
from cliffwatch_runner.build.selftests.sources import OUTPUT
from cliffwatch_runner.build.worktree import Worktree

SOURCE = "prog_run.c"
"""File name of the source, among the files that the host gives to a build."""

PROG_RUN = "prog-run"
"""Name of the program in the build's output and in the guest.

The file is empty if the tree's libbpf cannot build it.
"""

PROG_RUN_OUTPUT = Output(path=f"{OUTPUT}/{PROG_RUN}", name=PROG_RUN, bytes=256 * MIB, mode=0o755)

_MAKE = """
out=$1 program=$1/$2 source=$3 uapi=$4
rm -rf -- "$program"
CCACHE_DISABLE=1 gcc -O2 -Wall -I"$out/tools/include" -I"$uapi" -o "$program" "$source" \
  "$out/tools/build/libbpf/libbpf.a" -lelf -lz || : > "$program"
"""


def prog_run_source() -> str:
    return (Path(__file__).parent / SOURCE).read_text()


def make_prog_run(worktree: Worktree, log: Path) -> Failure | None:
    """Builds it after a target that builds libbpf, and replaces what the tree left under its name."""
    uapi = f"{worktree.source}/tools/include/uapi"
    out, source = f"{worktree.build}/{OUTPUT}", str(worktree.given(SOURCE))
    return worktree.make(["sh", "-c", _MAKE, "sh", out, PROG_RUN, source, uapi], log)
