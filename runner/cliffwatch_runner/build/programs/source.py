"""The sources of a suite's program: its folder, and the Go modules that were fetched for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.catalogue.suite import Program, Suite
from cliffwatch.failure import Failure
from cliffwatch_runner.build.programs.modules import FetchConfinement, fetch_modules, needs_modules
from cliffwatch_runner.source.suite_folder import PackedFolder, pack_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSource:
    """The sources of a suite's program."""

    suite: Suite
    program: Program
    folder: PackedFolder
    """The suite's folder as its author left it."""
    with_modules: PackedFolder
    """The folder that is built: with a vendor folder if modules were fetched."""
    modules: Mapping[str, str]
    """Versions of the fetched modules by path; empty if none were fetched."""
    of_go: bool
    """True if the folder has a go.mod."""


def program_source(
    suite: Suite,
    chosen: Mapping[str, Path | str],
    should_stop: Callable[[], bool],
    walls: FetchConfinement | None = None,
) -> ProgramSource | Failure:
    """Returns the source of a suite's program.

    `chosen` maps modules to versions or folders that replace those of go.mod.

    `walls` must be given if anybody may have chosen the modules. Raises Stopped; OSError if the host cannot
    store them.
    """
    assert suite.program is not None
    assert suite.source_file is not None
    folder, program = suite.source_file.parent, suite.program
    packed = pack_folder(folder, made=(program.run, *program.files) if program.build else ())
    if isinstance(packed, Failure):
        return packed
    of_go = (folder / "go.mod").is_file()
    if not needs_modules(folder, chosen):
        return ProgramSource(
            suite=suite, program=program, folder=packed, with_modules=packed, modules={}, of_go=of_go
        )
    fetched = fetch_modules(suite.name, packed, chosen, should_stop, walls)
    if isinstance(fetched, Failure):
        return fetched
    return ProgramSource(
        suite=suite,
        program=program,
        folder=packed,
        with_modules=fetched.packed,
        modules=fetched.versions,
        of_go=of_go,
    )
