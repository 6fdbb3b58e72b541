"""Builds `bench`, the kernel's own benchmark program: one binary for both kernels of a run."""

import hashlib
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.catalogue.discovery import parse_list
from cliffwatch.failure import Failure, kernel_failed
from cliffwatch.formats.values import Part
from cliffwatch_runner import clock
from cliffwatch_runner.build.kernel import Kernel, trust_names, worktree_name
from cliffwatch_runner.build.outputs import MIB, CacheRecipe, Output, save_failure_log
from cliffwatch_runner.build.selftests.empty_loop import (
    EMPTY_LOOP,
    HEADER,
    PROGRAM,
    empty_loop_source,
    list_emptied_benchmarks,
    make_empty_loop,
)
from cliffwatch_runner.build.selftests.sources import (
    BTF,
    OUTPUT,
    SelftestSources,
    keep_sources,
    make_command,
    prepare_sources,
    sources_of,
)
from cliffwatch_runner.build.toolchain import Toolchain
from cliffwatch_runner.build.worktree import BuildSettings, Worktree
from cliffwatch_runner.build.worktree_pool import lock_worktree
from cliffwatch_runner.source.revision import Revision
from cliffwatch_runner.source.tree import Tree

FIXED_SEED = Output(path="fixed_seed.so", name="fixed_seed.so", bytes=16 * MIB, mode=0o755)
OUTPUTS = (
    Output(path=f"{OUTPUT}/bench", name="bench", bytes=256 * MIB, mode=0o755),
    FIXED_SEED,
    EMPTY_LOOP,
)


class _BenchRecord(Part, frozen=True, kw_only=True):
    """Record of a bench's cache entry. `seconds` and `release` are only for people who inspect the cache."""

    offered: tuple[str, ...]
    seconds: float
    release: str


_ENTRY = CacheRecipe(outputs=OUTPUTS, record="bench.json", kind=_BenchRecord)
_RECIPE = "2"
_MOST_OFFERED = 10_000
_LIST_SECONDS, _LIST_HOST_SECONDS = 30, 1800.0
"""`bench -l` takes milliseconds: what it may work, and how long a host may be busy with other work meanwhile.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchProgram:
    """A built bench in the cache."""

    digest: str
    source_digest: str
    """Digest of its sources and compilers only; part of a series' identity."""
    program: Path
    fixed_seed: Path
    empty_loop: Path
    """The bench without lookups."""
    offered: tuple[str, ...]
    """Benchmarks of `program` and of `empty_loop`."""
    was_there: bool
    """True if it came from the cache."""


def build_bench(
    tree: Tree,
    revision: Revision,
    kernel: Kernel,
    *,
    toolchain: Toolchain,
    settings: BuildSettings,
) -> BenchProgram | Failure:
    """Returns the bench of a revision, built with vmlinux.h from a kernel's types.

    Raises Stopped, OSError.
    """
    sources = sources_of(tree, revision, toolchain)
    btf = hashlib.sha256(kernel.btf.read_bytes()).hexdigest()
    ours = (fixed_seed_source(), empty_loop_source())
    parts = [_RECIPE, sources.made_from, btf, *ours, *trust_names(settings.trust)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    folder = settings.built / "benches" / digest
    bench = _cached(folder, sources.digest, settings)
    if bench is not None:
        return bench
    with settings.hold_lock(digest, "bench"):
        bench = _cached(folder, sources.digest, settings)
        if bench is not None:
            return bench
        failure = _build(sources, kernel, settings, folder)
        if failure is not None:
            return failure
        bench = _cached(folder, sources.digest, settings, was_there=False)
        assert bench is not None
        return bench


def _build(sources: SelftestSources, kernel: Kernel, settings: BuildSettings, folder: Path) -> Failure | None:
    """Builds bench into the entry `folder` of the cache."""
    began = clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="cliffwatch-given-") as temporary:
        given = Path(temporary)
        shutil.copyfile(kernel.btf, given / BTF)
        (given / "fixed_seed.c").write_text(fixed_seed_source())
        (given / HEADER).write_text(empty_loop_source())
        with lock_worktree(worktree_name(sources.toolchain), settings, given) as worktree:
            log = worktree.log("bench")
            offered = _make(worktree, sources, log)
            failure = offered if isinstance(offered, Failure) else make_fixed_seed(worktree, log)
            if failure is None and not isinstance(offered, Failure):
                seconds = round(clock.monotonic() - began, 1)
                record = _BenchRecord(seconds=seconds, offered=offered, release=sources.revision.release)
                failure = _ENTRY.store(folder, worktree.output, log, lambda _: record)
                if failure is not None:
                    worktree.distrust_output()
            if failure is not None:
                save_failure_log(failure, log, settings.cache, folder.name)
            return failure


def _cached(
    folder: Path, source_digest: str, settings: BuildSettings, *, was_there: bool = True
) -> BenchProgram | None:
    record = _ENTRY.read(folder, settings.uses)
    if record is None:
        return None
    return BenchProgram(
        digest=folder.name,
        source_digest=source_digest,
        program=folder / "bench",
        fixed_seed=folder / "fixed_seed.so",
        empty_loop=folder / PROGRAM,
        offered=(*record.offered, *list_emptied_benchmarks(folder / PROGRAM, record.offered)),
        was_there=was_there,
    )


def fixed_seed_source() -> str:
    """Returns the source of the library that fixes random numbers (guest/fixed_seed.c)."""
    return (Path(__file__).parents[2] / "guest" / "fixed_seed.c").read_text()


def _make(worktree: Worktree, sources: SelftestSources, log: Path) -> Failure | tuple[str, ...]:
    """Builds bench in the worktree. Returns the names of its benchmarks."""
    toolchain = sources.toolchain
    failure = prepare_sources(worktree, sources, log, "bench")
    if failure is None:
        failure = worktree.make(make_command(worktree, toolchain, toolchain.clang.program, ["bench"]), log)
    if failure is not None:
        return _of_bench(failure)
    offered = _list_benchmarks(worktree)
    if isinstance(offered, Failure):
        return offered
    failure = make_empty_loop(worktree, toolchain, log)
    if failure is not None:
        return _of_bench(failure)
    keep_sources(worktree, sources)
    return offered


def _of_bench(failure: Failure) -> Failure:
    return replace(failure, message=f"bench: {failure.message}")


def _list_benchmarks(worktree: Worktree) -> Failure | tuple[str, ...]:
    """Returns the benchmarks that bench lists.

    It runs in the build's isolation, because it is the tree's code.
    """
    command = ["prlimit", f"--cpu={_LIST_SECONDS}", f"{worktree.build}/{OUTPUT}/bench", "-l"]
    listed = worktree.ask(command, seconds=_LIST_HOST_SECONDS)
    if isinstance(listed, Failure):
        return _of_bench(listed)
    offered = tuple(parse_list(listed.output))[:_MOST_OFFERED]
    if not listed.ok or not offered:
        return kernel_failed(
            "bench builds but does not run", "run it by hand: bench -l", listed.output[-2000:]
        )
    return offered


def make_fixed_seed(worktree: Worktree, log: Path) -> Failure | None:
    """Builds our own library from `fixed_seed.c` among the given files.

    This comes last and replaces anything that the tree's build left under its name.
    """
    target = f"{worktree.build}/fixed_seed.so"
    clear = ["rm", "-rf", "--", target]
    compiler = ["env", "CCACHE_DISABLE=1", "gcc", "-O2", "-Wall", "-shared", "-fPIC"]
    compiled = [*compiler, "-o", target, str(worktree.given("fixed_seed.c")), "-ldl"]
    return worktree.make(clear, log) or worktree.make(compiled, log)
