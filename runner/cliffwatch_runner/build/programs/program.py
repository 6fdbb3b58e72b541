"""Builds the program that a suite brings, in the isolation of a tree's builds: no network and no home."""

import hashlib
import re
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.catalogue.suite import Program
from cliffwatch.failure import Failure
from cliffwatch.formats.values import Part
from cliffwatch_runner import clock, process
from cliffwatch_runner.build.kernel import trust_names
from cliffwatch_runner.build.outputs import MIB, CacheRecipe, Output, save_failure_log
from cliffwatch_runner.build.programs.errors import blame_suite
from cliffwatch_runner.build.programs.source import ProgramSource
from cliffwatch_runner.build.selftests.bench import FIXED_SEED, fixed_seed_source, make_fixed_seed
from cliffwatch_runner.build.toolchain import Toolchain
from cliffwatch_runner.build.worktree import BuildSettings, Worktree
from cliffwatch_runner.build.worktree_pool import lock_worktree
from cliffwatch_runner.host.programs import find_go_root
from cliffwatch_runner.sandbox.sandbox import HOME, Mount
from cliffwatch_runner.source.suite_folder import PackedFolder

_RECIPE = "1"
_ARCHIVE = "suite.tar"
_RECORD = "program.json"
_STORED = "file-"
"""Prefix of the program's files in the cache, so that they cannot collide with the record and the log."""

_LARGEST_FILE = 256 * MIB
_UNPACK_AND_BUILD = """
rm -rf suite
mkdir suite
tar -xf "$1" -C suite --no-same-owner
cd suite
export GOCACHE="$CCACHE_DIR/go"
exec sh -ec "$2"
"""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_GO_IN_VIEW = Path("/opt/go")
_WITHOUT_NETWORK = {"GOPROXY": "off", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"}
_GO = re.compile(r"(?<![\w./-])go(?![\w-])")
_VERSION = re.compile(r"^go version \S.{0,180}", re.MULTILINE)  # beside it go may complain of its telemetry
_ASK_SECONDS = 300.0


class _ProgramRecord(Part, frozen=True, kw_only=True):
    """Record of a program's cache entry. `seconds` and `suite` are only for people who inspect the cache."""

    seconds: float
    suite: str
    dynamic: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteProgram:
    """A built program in the cache."""

    suite: str
    name: str
    """Name of the program to run, in `files`."""
    digest: str
    source_digest: str
    """Digest of its sources and tools, without fetched Go modules; part of a series' identity."""
    files: Mapping[str, Path]
    """The program and the files that it needs, by name."""
    fixed_seed: Path
    dynamic: bool | None
    """True if a loader starts it, so that a library can be preloaded; None for a script."""
    was_there: bool
    """True if it came from the cache."""
    modules: Mapping[str, str]
    """Versions of the Go modules that were fetched for it."""
    go: str
    """Output of `go version`; empty for a program that is not built with Go."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A program's place in the cache, and what is known before it is built."""

    source: ProgramSource
    source_digest: str
    folder: Path
    go: str


def build_program(
    source: ProgramSource, *, own: bool, toolchain: Toolchain, settings: BuildSettings
) -> SuiteProgram | Failure:
    """Returns the program of a suite that has one, from the cache or built now.

    `own` says that the suite is the user's, who can change it. Raises Stopped, OSError.
    """
    suite, program = source.suite, source.program
    go = _go_version(settings) if source.of_go or _GO.search(program.build) else ""
    made_with = [toolchain.bench_identity, toolchain.image or "", go]

    def digest_of(packed: PackedFolder) -> str:
        parts = [
            _RECIPE,
            packed.digest,
            program.build,
            program.run,
            *program.files,
            *made_with,
            fixed_seed_source(),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    # Not across trust: Go compiles what it needs of other packages once for all trees of a trust, and a
    # tree's build could write there.
    names = (digest_of(source.with_modules), *trust_names(settings.trust))
    digest = hashlib.sha256("\0".join(names).encode()).hexdigest()[:32]
    entry = _Entry(source, digest_of(source.folder), settings.built / "programs" / digest, go)
    built = _cached(entry, settings)
    if built is not None:
        return built
    with settings.hold_lock(digest, "program"):
        built = _cached(entry, settings)
        if built is not None:
            return built
        failure = _build(suite.name, program, source.with_modules, settings, entry.folder)
        if failure is not None:
            return blame_suite(failure, suite.name, program, own=own)
        built = _cached(entry, settings, was_there=False)
        assert built is not None
        return built


def _build(
    suite: str, program: Program, packed: PackedFolder, settings: BuildSettings, folder: Path
) -> Failure | None:
    """Builds into the entry `folder` of the cache."""
    began = clock.monotonic()
    recipe = _recipe(program)
    with tempfile.TemporaryDirectory(prefix="cliffwatch-given-") as temporary:
        given = Path(temporary)
        (given / _ARCHIVE).write_bytes(packed.archive)
        (given / "fixed_seed.c").write_text(fixed_seed_source())
        with lock_worktree("program", settings, given) as worktree:
            worktree.open_output()
            log = worktree.log("program")
            failure = worktree.make(
                _command(worktree, program), log, tools=_go_mounts(settings)
            ) or make_fixed_seed(worktree, log)
            if failure is None:

                def describe(copies: Path) -> _ProgramRecord:
                    dynamic = _is_dynamic(copies / f"{_STORED}{program.run}")
                    return _ProgramRecord(
                        seconds=round(clock.monotonic() - began, 1), suite=suite, dynamic=dynamic
                    )

                failure = recipe.store(folder, worktree.output, log, describe)
                if failure is not None:
                    worktree.distrust_output()
            if failure is not None:
                save_failure_log(failure, log, settings.cache, folder.name)
            return failure


def _recipe(program: Program) -> CacheRecipe[_ProgramRecord]:
    names = (program.run, *program.files)
    outputs = tuple(
        Output(path=f"suite/{name}", name=f"{_STORED}{name}", bytes=_LARGEST_FILE, mode=0o755)
        for name in names
    )
    return CacheRecipe(outputs=(*outputs, FIXED_SEED), record=_RECORD, kind=_ProgramRecord)


def _cached(entry: _Entry, settings: BuildSettings, *, was_there: bool = True) -> SuiteProgram | None:
    program, folder = entry.source.program, entry.folder
    record = _recipe(program).read(folder, settings.uses)
    if record is None:
        return None
    return SuiteProgram(
        suite=entry.source.suite.name,
        name=program.run,
        digest=folder.name,
        source_digest=entry.source_digest,
        files={name: folder / f"{_STORED}{name}" for name in (program.run, *program.files)},
        fixed_seed=folder / FIXED_SEED.name,
        dynamic=record.dynamic,
        was_there=was_there,
        modules=entry.source.modules,
        go=entry.go,
    )


def _command(worktree: Worktree, program: Program) -> list[str]:
    """Returns the command that unpacks the folder into the build output and builds there."""
    script = f"cd {worktree.build}\n{_UNPACK_AND_BUILD}"
    environment = {**_environment(worktree.settings), **_WITHOUT_NETWORK}
    words = [f"{name}={value}" for name, value in environment.items()]
    return ["env", *words, "sh", "-ec", script, "sh", str(worktree.given(_ARCHIVE)), program.build or "true"]


def _environment(settings: BuildSettings) -> dict[str, str]:
    """Returns a PATH that also has tools which a kernel's build does not need. An image has its own PATH."""
    if settings.sandbox.image is not None:
        return {}
    root = _GO_IN_VIEW if _go_mounts(settings) else find_go_root()
    return {"PATH": _PATH if root is None else f"{root}/bin:{_PATH}"}


def _go_mounts(settings: BuildSettings) -> tuple[Mount, ...]:
    """Shows the build the user's Go if that is outside /usr, for example in the user's home."""
    root = find_go_root()
    if (
        root is None
        or root.is_relative_to("/usr")
        or not settings.sandbox.fixed_paths
        or settings.sandbox.image
    ):
        return ()
    return (Mount(source=root, target=_GO_IN_VIEW),)


def _go_version(settings: BuildSettings) -> str:
    """Returns the output of `go version` in the isolation of the build; empty if there is no go."""
    sandbox = settings.sandbox
    environment = {"HOME": str(HOME), **_environment(settings), **_WITHOUT_NETWORK}
    argv = sandbox.argv(["env", "go", "version"], env=environment, mounts=_go_mounts(settings), workdir=HOME)
    ended = process.run(argv, deadline=_ASK_SECONDS, env=sandbox.process_input())
    said = _VERSION.search(ended.output) if ended.ok else None
    return said[0] if said is not None else ""


_ELF64 = b"\x7fELF\x02\x01"
_INTERPRETER = 3
"""Type of the segment that names a program's loader (PT_INTERP)."""


def _is_dynamic(program: Path) -> bool | None:
    """True if a loader starts the program; None if it is not a 64-bit ELF file, such as a script."""
    with program.open("rb") as file:
        header = file.read(64)
        if len(header) < 64 or not header.startswith(_ELF64):
            return None
        (offset,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        file.seek(min(offset, _LARGEST_FILE))
        table = file.read(size * count)
    kinds = [struct.unpack_from("<I", table, place)[0] for place in range(0, len(table) - 3, max(size, 4))]
    return _INTERPRETER in kinds
