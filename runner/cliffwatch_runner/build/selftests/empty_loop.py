"""Builds bench a second time, with the lookups taken out of the loop of task local storage: what is left is
what surrounds them.
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
"""Its name among what the host hands to a build."""

PROGRAM = "bench-empty-loop"
"""Its name, in the build's output and in the guest; empty where the tree's program cannot be emptied."""

EMPTY_LOOP = Output(path=f"{OUTPUT}/{PROGRAM}", name=PROGRAM, bytes=256 * MIB, mode=0o755)

BENCHMARKS = (
    "local-storage-cache-seq-get",
    "local-storage-cache-int-get",
    "local-storage-cache-hashmap-control",
)
"""Those of bench whose BPF program the header empties."""

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
"""Of the same output folder, in which nothing but that program and what includes it is stale; what was
emptied does not stay in it.
"""


def empty_loop_source() -> str:
    """The header that takes the lookups out."""
    return (Path(__file__).parent / HEADER).read_text()


def make_empty_loop(worktree: Worktree, toolchain: Toolchain, log: Path) -> Failure | None:
    """After bench itself, by the same `make` with the header included. A tree whose program has other lookups
    leaves an empty file.
    """
    emptying = f"{toolchain.clang.program} -include {worktree.given(HEADER)}"
    make = make_command(worktree, toolchain, emptying, ["bench"])
    return worktree.make(
        ["sh", "-c", _MAKE, "sh", f"{worktree.build}/{OUTPUT}", PROGRAM, _OBJECT, *make], log
    )


def offered_empty(program: Path, offered: Sequence[str]) -> tuple[str, ...]:
    """The benchmarks that the emptied bench has, by the names under which catalogues ask for them."""
    if program.stat().st_size == 0:
        return ()
    return tuple(f"{EMPTIED}{name}" for name in BENCHMARKS if name in offered)
