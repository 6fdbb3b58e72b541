"""Builds the BPF objects of a tree's selftests, and veristat and prog-run, which verify and run them.

Objects that do not build are reported by name.
"""

import hashlib
import re
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch.formats.values import Part
from cliffwatch_runner import clock
from cliffwatch_runner.build.errors import failure_of, is_full_disk, is_killed
from cliffwatch_runner.build.kernel import Kernel, trust_names, worktree_name
from cliffwatch_runner.build.outputs import MIB, CacheRecipe, Output, save_failure_log
from cliffwatch_runner.build.selftests.prog_run import (
    PROG_RUN,
    PROG_RUN_OUTPUT,
    SOURCE,
    make_prog_run,
    prog_run_source,
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

VERISTAT, ARCHIVE, UNBUILT = "veristat", "objects.tar", "unbuilt"
SUFFIX = ".bpf.o"
_RECIPE = "2"
_MOST_LISTED = 1 << 20
_LONGEST_REASON = 200
_ERROR = re.compile(r"^(?P<place>\S+?):\d+(?::\d+)?: (?:fatal )?error: (?P<what>.*)$")
_INCLUDED = re.compile(r"^In file included from (?P<place>\S+?):\d+")

_COLLECT = """
cd "$1"
strip=$2
shift 2
rm -rf ../objects ../objects.tar ../built
mkdir ../objects
for object; do
  if [ -f "$object" ]; then "$strip" -g -o "../objects/$object" "$object"; fi
done
cd ../objects
ls > ../built
tar -cf ../objects.tar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0644 -T ../built
"""
"""Strips debug information but keeps BTF, which the kernel reads."""


class _ObjectsRecord(Part, frozen=True, kw_only=True):
    """Record of a cache entry. `seconds` and `release` are only for people who inspect the cache."""

    seconds: float
    release: str
    built: tuple[str, ...]
    unbuilt: dict[str, str]


_ENTRY = CacheRecipe(
    outputs=(
        Output(path=f"{OUTPUT}/{VERISTAT}", name=VERISTAT, bytes=256 * MIB, mode=0o755),
        PROG_RUN_OUTPUT,
        Output(path=ARCHIVE, name=ARCHIVE, bytes=512 * MIB),
        Output(path="built", name=UNBUILT, bytes=_MOST_LISTED),
    ),
    record="program.json",
    kind=_ObjectsRecord,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeObjects:
    """veristat, prog-run and BPF objects in the cache."""

    digest: str
    veristat: Path
    prog_run: Path
    """An empty file if the tree's libbpf cannot build it."""
    archive: Path
    """Tar archive of the `built` objects."""
    reasons: Path
    """File with the reasons in `unbuilt`, for guests."""
    built: tuple[str, ...]
    unbuilt: Mapping[str, str]
    """Reason by name of each object that did not build."""
    was_there: bool
    """True if they came from the cache."""


def build_objects(
    tree: Tree,
    revision: Revision,
    kernel: Kernel,
    names: Collection[str],
    *,
    toolchain: Toolchain,
    settings: BuildSettings,
) -> TreeObjects | Failure:
    """Returns the programs and the named objects of a revision, built with vmlinux.h from a kernel's types.

    Raises Stopped, OSError.
    """
    sources = sources_of(tree, revision, toolchain)
    wanted = sorted(names)
    btf = hashlib.sha256(kernel.btf.read_bytes()).hexdigest()
    ours = hashlib.sha256(prog_run_source().encode()).hexdigest()
    parts = ["objects", _RECIPE, ours, sources.made_from, btf, *trust_names(settings.trust), *wanted]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    folder = settings.built / "programs" / digest
    objects = _cached(folder, settings)
    if objects is not None:
        return objects
    with settings.hold_lock(digest, "objects"):
        objects = _cached(folder, settings)
        if objects is not None:
            return objects
        failure = _build(sources, kernel, wanted, settings, folder)
        if failure is not None:
            return replace(failure, message=f"veristat: {failure.message}")
        objects = _cached(folder, settings)
        assert objects is not None
        return replace(objects, was_there=False)


def _cached(folder: Path, settings: BuildSettings) -> TreeObjects | None:
    record = _ENTRY.read(folder, settings.uses)
    if record is None:
        return None
    return TreeObjects(
        digest=folder.name,
        veristat=folder / VERISTAT,
        prog_run=folder / PROG_RUN,
        archive=folder / ARCHIVE,
        reasons=folder / UNBUILT,
        built=record.built,
        unbuilt=record.unbuilt,
        was_there=True,
    )


def _build(
    sources: SelftestSources, kernel: Kernel, wanted: Sequence[str], settings: BuildSettings, folder: Path
) -> Failure | None:
    """Builds into the entry `folder` of the cache."""
    began = clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="cliffwatch-given-") as temporary:
        given = Path(temporary)
        shutil.copyfile(kernel.btf, given / BTF)
        (given / SOURCE).write_text(prog_run_source())
        with lock_worktree(worktree_name(sources.toolchain), settings, given) as worktree:
            log = worktree.log("objects")
            failure = _make(worktree, sources, wanted, log)
            if failure is None:
                keep_sources(worktree, sources)

                def describe(copies: Path) -> _ObjectsRecord:
                    built, unbuilt = _split_built(copies / UNBUILT, wanted, log.read_text(errors="replace"))
                    seconds = round(clock.monotonic() - began, 1)
                    return _ObjectsRecord(
                        seconds=seconds, release=sources.revision.release, built=built, unbuilt=unbuilt
                    )

                failure = _ENTRY.store(folder, worktree.output, log, describe)
                if failure is not None:
                    worktree.distrust_output()
            if failure is not None:
                save_failure_log(failure, log, settings.cache, folder.name)
            return failure


def _split_built(listed: Path, wanted: Sequence[str], said: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Returns the objects that were built, and a reason for each of the others.

    Replaces the list of built objects in the file `listed` by the reasons, which guests read.
    """
    there = set(listed.read_text(errors="replace").split("\n"))
    unbuilt = {name: find_build_error(name, said) for name in wanted if name not in there}
    listed.write_text("".join(f"{name}\t{reason}\n" for name, reason in unbuilt.items()))
    return tuple(name for name in wanted if name in there), unbuilt


def _make(worktree: Worktree, sources: SelftestSources, wanted: Sequence[str], log: Path) -> Failure | None:
    """Builds veristat and prog-run, then every object that builds, and an archive of these.

    Removes old objects first, because they may have been built with another kernel's types.
    """
    toolchain, output = sources.toolchain, f"{worktree.build}/{OUTPUT}"
    failure = prepare_sources(worktree, sources, log, "veristat")
    if failure is None:
        failure = worktree.make(make_command(worktree, toolchain, toolchain.clang.program, [VERISTAT]), log)
    if failure is None:
        failure = make_prog_run(worktree, log)
    if failure is not None or not wanted:
        return failure or _collect(worktree, sources, wanted, log)
    clang = worktree.compiler(toolchain.clang.program)
    count = _Count(worktree.settings, len(wanted))
    objects = make_command(worktree, toolchain, clang, wanted)
    for step in (
        ["sh", "-c", 'rm -f -- "$1"/*.bpf.o', "sh", output],
        # Those that do not build are named, and the others measured.
        ["sh", "-c", '"$@" --keep-going || true', "sh", *objects],
    ):
        failure = worktree.make(step, log, count.take)
        if failure is not None:
            return failure
    said = log.read_text(errors="replace")
    if is_full_disk(said) or is_killed(said):
        return failure_of(said)
    return _collect(worktree, sources, wanted, log)


def _collect(
    worktree: Worktree, sources: SelftestSources, wanted: Sequence[str], log: Path
) -> Failure | None:
    strip = sources.toolchain.llvm_strip.program
    return worktree.make(["sh", "-ec", _COLLECT, "sh", f"{worktree.build}/{OUTPUT}", strip, *wanted], log)


class _Count:
    """Counts the objects whose build has started."""

    def __init__(self, settings: BuildSettings, expected: int) -> None:
        self._settings = settings
        self._expected = expected
        self._begun = 0

    def take(self, output: str) -> None:
        self._begun += output.count(SUFFIX)
        self._settings.report_progress(min(1.0, self._begun / self._expected), "objects")


def find_build_error(name: str, log: str) -> str:
    """Returns the first compiler error in an object's source or in a file that it includes."""
    source = f"progs/{name.removesuffix(SUFFIX)}.c"
    including = ""
    for line in log.splitlines():
        included = _INCLUDED.match(line)
        if included and "progs/" in included["place"] and included["place"].endswith(".c"):
            including = included["place"]
        error = _ERROR.match(line)
        if error is None:
            continue
        if error["place"].endswith(source) or including.endswith(source):
            return f"does not build: {error['what']}"[:_LONGEST_REASON]
        including = ""
    return "does not build"
