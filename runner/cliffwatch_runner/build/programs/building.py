"""Builds a program into the cache, in the isolation of a tree's builds: no network and no home."""

import re
import struct
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from cliffwatch.catalogue.suite import Program
from cliffwatch.failure import Failure
from cliffwatch.formats.values import Part
from cliffwatch_runner import clock, process
from cliffwatch_runner.build.outputs import MIB, CacheRecipe, Output, save_failure_log
from cliffwatch_runner.build.selftests.bench import FIXED_SEED, fixed_seed_source, make_fixed_seed
from cliffwatch_runner.build.worktree import BuildSettings, Worktree
from cliffwatch_runner.build.worktree_pool import lock_worktree
from cliffwatch_runner.host.programs import find_go_root
from cliffwatch_runner.sandbox.sandbox import HOME, Mount
from cliffwatch_runner.source.suite_folder import PackedFolder

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
_LINK = "link-go.sh"
_VERSION = re.compile(r"^go version \S.{0,180}", re.MULTILINE)  # beside it go may complain of its telemetry
_ASK_SECONDS = 300.0


class ProgramRecord(Part, frozen=True, kw_only=True):
    """Record of a program's cache entry. `seconds` and `suite` are only for people who inspect the cache."""

    seconds: float
    suite: str
    dynamic: bool | None


def build_entry(
    suite: str,
    program: Program,
    packed: PackedFolder,
    settings: BuildSettings,
    folder: Path,
    *,
    layout: int | None = None,
) -> Failure | None:
    """Builds into the entry `folder` of the cache. `layout` is the seed of the order of Go's functions."""
    began = clock.monotonic()
    recipe = recipe_of(program)
    with tempfile.TemporaryDirectory(prefix="cliffwatch-given-") as temporary:
        given = Path(temporary)
        (given / _ARCHIVE).write_bytes(packed.archive)
        (given / "fixed_seed.c").write_text(fixed_seed_source())
        (given / _LINK).write_text((files("cliffwatch_runner.build") / "config" / _LINK).read_text())
        with lock_worktree("program", settings, given) as worktree:
            worktree.open_output()
            log = worktree.log("program")
            failure = worktree.make(
                _command(worktree, program, layout), log, tools=_go_mounts(settings)
            ) or make_fixed_seed(worktree, log)
            if failure is None:

                def describe(copies: Path) -> ProgramRecord:
                    dynamic = _is_dynamic(copies / f"{_STORED}{program.run}")
                    return ProgramRecord(
                        seconds=round(clock.monotonic() - began, 1), suite=suite, dynamic=dynamic
                    )

                failure = recipe.store(folder, worktree.output, log, describe)
                if failure is not None:
                    worktree.distrust_output()
            if failure is not None:
                save_failure_log(failure, log, settings.cache, folder.name)
            return failure


def recipe_of(program: Program) -> CacheRecipe[ProgramRecord]:
    """Returns what an entry of the program has."""
    names = (program.run, *program.files)
    outputs = tuple(
        Output(path=f"suite/{name}", name=f"{_STORED}{name}", bytes=_LARGEST_FILE, mode=0o755)
        for name in names
    )
    return CacheRecipe(outputs=(*outputs, FIXED_SEED), record=_RECORD, kind=ProgramRecord)


def files_of(program: Program, entry: Path) -> Mapping[str, Path]:
    """Returns the program and the files that it needs in an entry, by name."""
    return {name: entry / f"{_STORED}{name}" for name in (program.run, *program.files)}


def _command(worktree: Worktree, program: Program, layout: int | None) -> list[str]:
    """Returns the command that unpacks the folder into the build output and builds there."""
    script = f"cd {worktree.build}\n{_UNPACK_AND_BUILD}"
    environment = {**_environment(worktree.settings), **_WITHOUT_NETWORK}
    if layout is not None:
        environment["CLIFFWATCH_LAYOUT"] = str(layout)
        environment["GOFLAGS"] += f" '-toolexec=sh {worktree.given(_LINK)}'"
    words = [f"{name}={value}" for name, value in environment.items()]
    return ["env", *words, "sh", "-ec", script, "sh", str(worktree.given(_ARCHIVE)), program.build or "true"]


def _environment(settings: BuildSettings) -> dict[str, str]:
    """Returns a PATH that also has tools which a kernel's build does not need. An image has its own PATH."""
    if settings.sandbox.image is not None:
        return {}
    root = _GO_IN_VIEW if _go_mounts(settings) else find_go_root()
    go = () if root is None else (f"{root}/bin",)
    return {"PATH": ":".join((*go, *map(str, settings.sandbox.searched), _PATH))}


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


def go_version(settings: BuildSettings) -> str:
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
