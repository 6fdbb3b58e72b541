"""The program that a suite brings: builds it, and links it in layouts."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cliffwatch.catalogue.suite import Program
from cliffwatch.failure import Failure
from cliffwatch_runner.build.kernel import trust_names
from cliffwatch_runner.build.programs.building import build_entry, files_of, go_version, recipe_of
from cliffwatch_runner.build.programs.errors import blame_suite
from cliffwatch_runner.build.programs.loaded import loaded_digest
from cliffwatch_runner.build.programs.source import ProgramSource
from cliffwatch_runner.build.selftests.bench import FIXED_SEED, fixed_seed_source
from cliffwatch_runner.build.toolchain import Toolchain
from cliffwatch_runner.build.worktree import BuildSettings
from cliffwatch_runner.source.suite_folder import PackedFolder

_RECIPE, _LAYOUT_RECIPE = "1", "1"
_GO = re.compile(r"(?<![\w./-])go(?![\w-])")
_TOO_OLD = "Error: this Go has no -randlayout"
"""Printed by link-go.sh."""


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
    source: ProgramSource
    layouts: Mapping[int, Path] = field(default_factory=dict)
    """Entries of the program with its functions in another order, by seed."""
    one_layout: str | None = None
    """Why Go cannot link it so; None if it can, or if no layout was asked for."""

    @property
    def folder(self) -> Path:
        """Its entry in the cache."""
        return self.fixed_seed.parent

    def files_in(self, layout: int | None) -> Mapping[str, Path]:
        """Returns the files in a layout; as they were built if the program does not have it."""
        if layout is None or layout not in self.layouts:
            return self.files
        return {**self.files, **files_of(self.source.program, self.layouts[layout])}


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
    go = go_version(settings) if source.of_go or _GO.search(program.build) else ""
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
        failure = build_entry(suite.name, program, source.with_modules, settings, entry.folder)
        if failure is not None:
            return blame_suite(failure, suite.name, program, own=own)
        built = _cached(entry, settings, was_there=False)
        assert built is not None
        return built


def link_program(
    program: SuiteProgram, seeds: Sequence[int], settings: BuildSettings
) -> SuiteProgram | Failure:
    """Returns the program in the layouts `seeds`, or with the reason why it has one layout.

    They come from the cache or are linked now: the build runs again, and Go has compiled everything before.
    Returns a failure if it is the host's. Raises Stopped, OSError.
    """
    if not program.go:
        return replace(program, one_layout="not built by Go")
    layouts: dict[int, Path] = {}
    for number, seed in enumerate(seeds, start=1):
        settings.report_progress(None, f"layout {number} of {len(seeds)}")
        entry = _link(program, seed, settings)
        if isinstance(entry, Failure):
            return entry
        if isinstance(entry, str):
            return replace(program, layouts={}, one_layout=entry)
        layouts[seed] = entry
    return replace(program, layouts=layouts)


def _link(program: SuiteProgram, seed: int, settings: BuildSettings) -> Path | str | Failure:
    """Returns the entry of the program in a layout, why there is none, or the host's failure."""
    source, recipe = program.source, recipe_of(program.source.program)
    name = f"{program.folder.name}\0layout {_LAYOUT_RECIPE} {seed}"
    digest = hashlib.sha256(name.encode()).hexdigest()[:32]
    entry = settings.built / "programs" / digest
    with settings.hold_lock(digest, "program"):
        if recipe.read(entry, settings.uses) is None:
            failure = build_entry(
                program.suite, source.program, source.with_modules, settings, entry, layout=seed
            )
            if failure is not None and failure.whose == "host":
                return failure
            if failure is not None:
                too_old = _TOO_OLD in failure.evidence
                return "Go before 1.23" if too_old else f"{failure.message} in another layout"
            recipe.read(entry, settings.uses)
    if _loaded(source.program, entry) == _loaded(source.program, program.folder):
        return "its build ignores GOFLAGS"
    return entry


def _loaded(program: Program, entry: Path) -> list[str]:
    """Returns digests of what is loaded of an entry's files."""
    return [loaded_digest(file.read_bytes()) for file in files_of(program, entry).values()]


def _cached(entry: _Entry, settings: BuildSettings, *, was_there: bool = True) -> SuiteProgram | None:
    program, folder = entry.source.program, entry.folder
    record = recipe_of(program).read(folder, settings.uses)
    if record is None:
        return None
    return SuiteProgram(
        suite=entry.source.suite.name,
        name=program.run,
        digest=folder.name,
        source_digest=entry.source_digest,
        files=files_of(program, folder),
        fixed_seed=folder / FIXED_SEED.name,
        dynamic=record.dynamic,
        was_there=was_there,
        modules=entry.source.modules,
        go=entry.go,
        source=entry.source,
    )
