"""Builds `bench`, the kernel's own benchmark program: one binary for both kernels of a run."""

import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.catalogue.discovery import parse_list
from cliffwatch_runner import clock, process
from cliffwatch_runner.cache_entries import locked, new_entry
from cliffwatch_runner.failure import Failure
from cliffwatch_runner.isolation import build_environment
from cliffwatch_runner.kernel_build import Kernel, lane_name
from cliffwatch_runner.lanes import BUILD, BuildSettings, Lane, held_lane
from cliffwatch_runner.revision import Revision, object_name
from cliffwatch_runner.toolchain import Toolchain
from cliffwatch_runner.tree import Tree

_OUTPUT = "bench"
_SOURCES = ("tools/testing/selftests/bpf", "tools/lib", "tools/bpf", "tools/include", "tools/build", "include/uapi")
_RECIPE = "1"
_LIST_SECONDS = 30
_LIST_DEADLINE_SECONDS = 1800.0
"""`bench -l` takes milliseconds: what it may work, and the host's time after which the host is at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchProgram:
    """A built bench in the cache. `source_digest` is of its sources and compilers alone: part of a series' identity."""

    digest: str
    source_digest: str
    program: Path
    fixed_seed: Path
    offered: tuple[str, ...]
    seconds: float
    was_there: bool


def build_bench(
    tree: Tree,
    revision: Revision,
    kernel: Kernel,
    *,
    toolchain: Toolchain,
    settings: BuildSettings,
) -> BenchProgram | Failure:
    """The bench of a revision, with vmlinux.h made from a kernel's types. Raises Stopped, OSError."""
    source_digest = bench_source_digest(tree, revision, toolchain)
    btf = hashlib.sha256(kernel.btf.read_bytes()).hexdigest()
    parts = [_RECIPE, source_digest, btf, _own_source()]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    place = settings.cache / "benches" / digest
    found = _found(place, digest, source_digest, settings)
    if found is not None:
        return found

    def waiting() -> None:
        settings.told(None, "waiting for another process that builds the same bench")

    with locked(settings.cache / "locks" / digest, waiting=waiting, should_stop=settings.should_stop):
        found = _found(place, digest, source_digest, settings)
        if found is not None:
            return found
        began = clock.monotonic()
        with tempfile.TemporaryDirectory(prefix="cliffwatch-given-") as temporary:
            given = Path(temporary)
            shutil.copyfile(kernel.btf, given / "btf")
            (given / "fixed_seed.c").write_text(_own_source())
            with held_lane(lane_name(toolchain), settings, given) as lane:
                failure = _make(lane, tree, revision, toolchain, given, source_digest)
                if failure is not None:
                    kept = settings.cache / "failures" / f"{digest}.log"
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(lane.folder / "bench.log", kept)
                    return failure
                _store(lane, revision, place, clock.monotonic() - began)
        built = _found(place, digest, source_digest, settings, was_there=False)
        assert built is not None
        return built


def bench_source_digest(tree: Tree, revision: Revision, toolchain: Toolchain) -> str:
    """A digest of everything that bench is made from but the kernel's types."""
    names = [object_name(tree.mirror, revision, path) or "-" for path in _SOURCES]
    return hashlib.sha256("\0".join([*names, toolchain.bench_identity]).encode()).hexdigest()[:32]


def _own_source() -> str:
    return (Path(__file__).parent / "guest" / "fixed_seed.c").read_text()


def _make(
    lane: Lane, tree: Tree, revision: Revision, toolchain: Toolchain, given: Path, source_digest: str
) -> Failure | None:
    lane.settings.told(None, "bench: checking out")
    log = lane.folder / "bench.log"
    log.unlink(missing_ok=True)
    failure = lane.check_out(tree, revision)
    if failure is not None:
        return failure
    output = lane.source / BUILD / _OUTPUT
    _forget_other_sources(output, source_digest)
    output.mkdir(parents=True, exist_ok=True)
    inside = lane.workshop.inside
    source = str(inside(lane.source))
    steps = [
        ["make", "-s", "-C", source, f"O={BUILD}", "ARCH=x86_64", "headers"],
        [
            *("make", "-C", f"{source}/tools/testing/selftests/bpf", "RELEASE=1", f"O={source}/{BUILD}"),
            *(f"CLANG={toolchain.clang.program}", f"LLC={toolchain.llc.program}"),
            *(f"LLVM_STRIP={toolchain.llvm_strip.program}", f"CC={lane.compiler(toolchain.cc.program)}"),
            *(f"VMLINUX_BTF={inside(given / 'btf')}", f"OUTPUT={inside(output)}", f"{inside(output)}/bench"),
        ],
        [
            *("gcc", "-O2", "-Wall", "-shared", "-fPIC", "-o", f"{inside(output)}/fixed_seed.so"),
            *(str(inside(given / "fixed_seed.c")), "-ldl"),
        ],
    ]
    for step in steps:
        lane.settings.told(None, "bench")
        failure = lane.make(step, log)
        if failure is not None:
            return Failure(
                whose=failure.whose,
                message=f"bench: {failure.message}",
                next_step=failure.next_step,
                evidence=failure.evidence,
            )
    (output / "sources").write_text(source_digest)
    return _list(lane, output, log)


def _forget_other_sources(output: Path, source_digest: str) -> None:
    """The selftests' Makefile does not follow everything; another source is built from nothing."""
    mark = output / "sources"
    if output.exists() and (not mark.is_file() or mark.read_text() != source_digest):
        shutil.rmtree(output)


def _list(lane: Lane, output: Path, log: Path) -> Failure | None:
    """Asks bench what it offers, in the same isolation: it is the tree's code."""
    command = ["prlimit", f"--cpu={_LIST_SECONDS}", f"{lane.workshop.inside(output)}/bench", "-l"]
    argv = lane.workshop.argv(command, build_environment(lane.workshop.inside(lane.folder), 1))
    listed = process.run(argv, deadline=_LIST_DEADLINE_SECONDS, should_stop=lane.settings.should_stop)
    if listed.timed_out:
        return Failure(
            whose="host",
            message=f"`bench -l` had not ended after {_LIST_DEADLINE_SECONDS / 60:.0f} minutes",
            next_step="give this host less other work, then give the same command again",
        )
    if not listed.ok or not parse_list(listed.output):
        log.write_text(log.read_text(errors="replace") + listed.output)
        return Failure(
            whose="kernel",
            message="bench builds but does not run",
            next_step="run it by hand: bench -l",
            evidence=listed.output[-2000:],
        )
    (output / "list").write_text("\n".join(parse_list(listed.output)) + "\n")
    return None


def _store(lane: Lane, revision: Revision, place: Path, seconds: float) -> None:
    output = lane.source / BUILD / _OUTPUT
    with new_entry(place) as entry:
        for name in ("bench", "fixed_seed.so"):
            shutil.copyfile(output / name, entry / name, follow_symlinks=False)
            (entry / name).chmod(0o755)
        shutil.copyfile(lane.folder / "bench.log", entry / "build.log")
        offered = (output / "list").read_text().split()
        about = {"seconds": round(seconds, 1), "offered": offered, "release": revision.release}
        (entry / "bench.json").write_text(json.dumps(about) + "\n")


def _found(
    place: Path, digest: str, source_digest: str, settings: BuildSettings, *, was_there: bool = True
) -> BenchProgram | None:
    if not settings.uses.take(place):
        return None
    try:
        about = json.loads((place / "bench.json").read_text())
    except (OSError, ValueError):
        return None
    return BenchProgram(
        digest=digest,
        source_digest=source_digest,
        program=place / "bench",
        fixed_seed=place / "fixed_seed.so",
        offered=tuple(about["offered"]),
        seconds=float(about["seconds"]),
        was_there=was_there,
    )
