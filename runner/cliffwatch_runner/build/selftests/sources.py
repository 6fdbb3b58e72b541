"""The sources of the kernel's BPF selftests, and the steps that build any of their targets."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner.build.toolchain import Toolchain
from cliffwatch_runner.build.worktree import BUILD, Worktree
from cliffwatch_runner.source.revision import Revision, object_name
from cliffwatch_runner.source.tree import Tree

FOLDER = "tools/testing/selftests/bpf"
OUTPUT = "bench"
"""Folder below the build's output. All targets share it, because they need the same helpers."""

BTF = "btf"
"""File name of a kernel's types, among the files that the host gives to a build."""

_SOURCES = (FOLDER, "tools/lib", "tools/bpf", "tools/include", "tools/build", "include/uapi")
_STEERING = (
    *("Makefile", "scripts", "arch/x86/Makefile", "arch/x86/entry/syscalls", "arch/x86/include/uapi"),
    *("tools/scripts", "tools/testing/selftests/lib.mk", "kernel/bpf/disasm.c", "kernel/bpf/disasm.h"),
)
"""Other files that their Makefiles usually run and read."""


@dataclass(frozen=True, slots=True)
class SelftestSources:
    """The sources of selftests with their compilers."""

    tree: Tree
    revision: Revision
    toolchain: Toolchain
    digest: str
    """Digest of the sources of a benchmark: its identity, which most commits leave unchanged."""

    @property
    def made_from(self) -> str:
        """Digest of everything that a Makefile can run or read: the name of the built program."""
        return _digest(self.revision.tree, self.toolchain.bench_identity, self.toolchain.image or "")


def sources_of(tree: Tree, revision: Revision, toolchain: Toolchain) -> SelftestSources:
    names = _names(tree, revision, _SOURCES)
    return SelftestSources(tree, revision, toolchain, _digest(*names, toolchain.bench_identity))


def _names(tree: Tree, revision: Revision, paths: Sequence[str]) -> list[str]:
    return [object_name(tree.mirror, revision, path) or "-" for path in paths]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def prepare_sources(worktree: Worktree, sources: SelftestSources, log: Path, progress: str) -> Failure | None:
    """Checks the sources out and builds the kernel headers that all selftests need.

    The Makefile does not track all dependencies. So if the sources differ from the last build, the output is
    removed first.
    """
    worktree.settings.report_progress(None, f"{progress}: checking out")
    failure = worktree.check_out(sources.tree, sources.revision)
    if failure is not None:
        return failure
    output = f"{worktree.build}/{OUTPUT}"
    mark = _mark(worktree)
    stale = (
        [["rm", "-rf", "--", output]] if not mark.exists() or mark.read_text() != _state_of(sources) else []
    )
    mark.unlink(missing_ok=True)
    headers = ["make", "-s", "-C", str(worktree.source), f"O={BUILD}", "ARCH=x86_64", "headers"]
    for step in [*stale, ["mkdir", "-p", output], headers]:
        worktree.settings.report_progress(None, progress)
        failure = worktree.make(step, log)
        if failure is not None:
            return failure
    return None


def make_command(worktree: Worktree, toolchain: Toolchain, clang: str, targets: Sequence[str]) -> list[str]:
    """Returns the call of make for these targets, named relative to the output."""
    output = f"{worktree.build}/{OUTPUT}"
    return [
        *("make", "-C", f"{worktree.source}/{FOLDER}", "RELEASE=1", f"O={worktree.build}"),
        *(f"CLANG={clang}", f"LLC={toolchain.llc.program}"),
        *(f"LLVM_STRIP={toolchain.llvm_strip.program}", f"CC={worktree.compiler(toolchain.cc.program)}"),
        *(f"VMLINUX_BTF={worktree.given(BTF)}", f"OUTPUT={output}"),
        *(f"{output}/{target}" for target in targets),
    ]


def keep_sources(worktree: Worktree, sources: SelftestSources) -> None:
    """Lets the next build of the same sources reuse the current output."""
    _mark(worktree).write_text(_state_of(sources))


def _state_of(sources: SelftestSources) -> str:
    return _digest(sources.digest, *_names(sources.tree, sources.revision, _STEERING))


def _mark(worktree: Worktree) -> Path:
    """Returns the file with the digest of the sources from which the output was built.

    It is absent during a build.
    """
    return worktree.folder / "bench-source"
