"""What a suite's program is built from: its folder, and the Go modules that were fetched for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.catalogue.suite import Program, Suite
from cliffwatch.failure import Failure
from cliffwatch_runner.build.programs.modules import FetchWalls, fetch_modules, needs_modules
from cliffwatch_runner.source.suite_folder import PackedFolder, pack_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSource:
    """A suite's folder as its author left it, and as its program is built, with modules. Of those `modules`
    has the versions, and is empty where none were fetched.
    """

    suite: Suite
    program: Program
    folder: PackedFolder
    with_modules: PackedFolder
    modules: Mapping[str, str]
    of_go: bool


def program_source(
    suite: Suite,
    chosen: Mapping[str, Path | str],
    should_stop: Callable[[], bool],
    walls: FetchWalls | None = None,
) -> ProgramSource | Failure:
    """The source of a suite's program with these modules in place of those of its go.mod: for each a version
    or a folder. With `walls` anybody may have chosen them.

    Raises Stopped, and OSError where the host cannot keep them.
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
