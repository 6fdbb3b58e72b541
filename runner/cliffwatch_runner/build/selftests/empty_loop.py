"""Builds bench a second time without the lookups in the loop of task local storage.

The time of this empty loop is the overhead around the lookups.
"""

from collections.abc import Sequence
from pathlib import Path

from cliffwatch.catalogue.suite import EMPTIED
from cliffwatch.failure import Failure
from cliffwatch_runner.build.outputs import MIB, Output
from cliffwatch_runner.build.selftests.sources import OUTPUT, make_command
from cliffwatch_runner.build.toolchain import Toolchain
from cliffwatch_runner.build.worktree import Worktree

HEADER = "empty_loop.h"
"""File name of the header, among the files that the host gives to a build."""

PROGRAM = "bench-empty-loop"
"""Name of the program in the build's output and in the guest.

The file is empty if the tree's program cannot be emptied.
"""

EMPTY_LOOP = Output(path=f"{OUTPUT}/{PROGRAM}", name=PROGRAM, bytes=256 * MIB, mode=0o755)

BENCHMARKS = (
    "local-storage-cache-seq-get",
    "local-storage-cache-int-get",
    "local-storage-cache-hashmap-control",
)
"""Benchmarks whose BPF program the header empties."""

_OBJECT = "local_storage_bench"
_MAKE = """
out=$1 program=$2 object=$3; shift 3
cd "$out" || exit 1
rm -f "$program"
if ! [ -f "$object.bpf.o" ]; then : > "$program"; exit; fi
mv bench bench.whole; mv "$object.bpf.o" whole.bpf.o
rm -f "$object".* bench_local_storage.o
if "$@" && ! cmp -s whole.bpf.o "$object.bpf.o"; then
  mv bench "$program"
else
  rm -f bench; : > "$program"
fi
rm -f "$object".* bench_local_storage.o whole.bpf.o
mv bench.whole bench
"""
"""Works in the output folder of bench, where only this program and its dependents are stale.

Removes the emptied objects afterwards.
"""


def empty_loop_source() -> str:
    """Returns the header that removes the lookups."""
    return (Path(__file__).parent / HEADER).read_text()


def make_empty_loop(worktree: Worktree, toolchain: Toolchain, log: Path) -> Failure | None:
    """Builds the emptied bench after bench itself, with the same `make` and the header included.

    If the tree's program has other lookups, the output is an empty file.
    """
    emptying = f"{toolchain.clang.program} -include {worktree.given(HEADER)}"
    make = make_command(worktree, toolchain, emptying, ["bench"])
    return worktree.make(
        ["sh", "-c", _MAKE, "sh", f"{worktree.build}/{OUTPUT}", PROGRAM, _OBJECT, *make], log
    )


def list_emptied_benchmarks(program: Path, offered: Sequence[str]) -> tuple[str, ...]:
    """Returns the benchmarks of the emptied bench, by their names in catalogues."""
    if program.stat().st_size == 0:
        return ()
    return tuple(f"{EMPTIED}{name}" for name in BENCHMARKS if name in offered)
