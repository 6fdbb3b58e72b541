"""Collects the local files of a request: patches of arms, the user's own suites, data."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cliffwatch.catalogue.suite import GuestNeeds
from cliffwatch.counting import size_text
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import as_json, convert_to
from cliffwatch.formats.setup import (
    LARGEST_FILES_BYTES,
    MOST_FILES,
    Setup,
    SetupArm,
    SetupContent,
    SetupFile,
    SetupShape,
    find_problem,
)
from cliffwatch.parsers.readings import Problem
from cliffwatch_runner.plan.arms import ArmRequest, is_folder
from cliffwatch_runner.plan.suites.own import read_own_suite

_LEFT_OUT = frozenset({".git", ".gitignore"})
_ELF = b"\x7fELF"

Resolve = Callable[[str], str]
"""Resolves the name of a revision to a commit of the tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSetup:
    """The command's options with local files."""

    arms: Sequence[ArmRequest] = ()
    """In their order."""

    shapes: Sequence[GuestNeeds] = ()
    suites: Sequence[Path] = ()
    """Folders."""

    bench_args: Sequence[str] = ()
    data: Path | None = None
    build_image: str | None = None
    only_affected: bool = False
    layouts: int | None = None
    matched: bool = False
    seconds: float | None = None


@dataclass(slots=True)
class _SetupFiles:
    """The files to send."""

    contents: dict[str, bytes] = field(default_factory=dict)
    """By their name in the request."""

    executable: set[str] = field(default_factory=set)
    """Names of executable files."""

    def put(self, name: str, path: Path) -> str:
        """Raises OSError, and ValueError if a limit of requests is exceeded."""
        if path.stat().st_size + sum(map(len, self.contents.values())) > LARGEST_FILES_BYTES:
            raise ValueError(
                f"the files are larger than {size_text(LARGEST_FILES_BYTES)}, the limit of a request"
            )
        if len(self.contents) >= MOST_FILES:
            raise ValueError(f"there are more than {MOST_FILES} files")
        self.contents[name] = path.read_bytes()
        if os.access(path, os.X_OK):
            self.executable.add(name)
        return name

    def listed(self) -> tuple[SetupFile, ...]:
        return tuple(
            SetupFile(
                name=name,
                bytes=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
                executable=name in self.executable,
            )
            for name, content in self.contents.items()
        )


def collect_setup(brought: LocalSetup, resolve: Resolve) -> tuple[Setup, tuple[SetupContent, ...]] | Failure:
    """Returns the setup of a request and the contents of its files.

    Fails if a file cannot be read or sent.
    """
    parcel = _SetupFiles()
    try:
        arms = [_arm(arm, brought.arms[0], parcel, resolve) for arm in brought.arms]
        taken = [*arms, *(_take_suite(path, parcel) for path in brought.suites)]
        wrong = next((each for each in taken if isinstance(each, Failure)), None)
        if wrong is not None:
            return wrong
        data = None if brought.data is None else _take_data(brought.data, parcel)
    except (OSError, ValueError) as error:
        return wrong_usage(
            f"the files of the request cannot be sent: {error}", "measure with `cliffwatch run` instead"
        )
    setup = Setup(
        arms=tuple(arm for arm in arms if isinstance(arm, SetupArm)),
        shapes=tuple(
            SetupShape(cpus=shape.cpus, possible_cpus=shape.possible_cpus, numa_nodes=shape.numa_nodes)
            for shape in brought.shapes
        ),
        folders=tuple(path.resolve().name for path in brought.suites),
        bench_args=tuple(brought.bench_args),
        data=data,
        build_image=brought.build_image,
        files=parcel.listed(),
        only_affected=brought.only_affected,
        layouts=brought.layouts,
        matched=brought.matched,
        seconds=brought.seconds,
    )
    checked = convert_to(as_json(setup), Setup)  # documents allow fewer names than file systems do
    problem = checked if isinstance(checked, Problem) else find_problem(setup)
    if problem is not None:
        return wrong_usage(
            f"the request cannot be made: {problem}", "change that, or measure with `cliffwatch run`"
        )
    return setup, tuple(SetupContent(name=name, content=content) for name, content in parcel.contents.items())


def _arm(arm: ArmRequest, first: ArmRequest, parcel: _SetupFiles, resolve: Resolve) -> SetupArm | Failure:
    if arm.kernel is not None:
        return wrong_usage(
            f"arm {arm.name} is a prebuilt kernel, which is too large for a request",
            "measure it with `cliffwatch run`",
        )
    if any(is_folder(how) for how in arm.module.values()):
        return wrong_usage(
            f"arm {arm.name} names a module's folder on this machine",
            "name a version, or measure it with `cliffwatch run`",
        )
    rev = arm.rev or first.rev
    if rev is None:
        return wrong_usage(f"arm {arm.name} names no revision", "give it one, such as rev=v6.12")
    named = [
        parcel.put(f"arm-{arm.name}/{number}-{path.name}", path)
        for number, path in enumerate(arm.patch, start=1)
    ]
    return SetupArm(
        name=arm.name,
        rev=resolve(rev),
        patch=tuple(named),
        series=None if arm.series is None else parcel.put(f"arm-{arm.name}/{arm.series.name}", arm.series),
        boot=arm.boot,
        sysctl=dict(arm.sysctl),
        param=dict(arm.param),
        config=tuple(parcel.put(f"arm-{arm.name}/{path.name}", path) for path in arm.config),
        module=dict(arm.module),
        cc=arm.cc,
    )


def _take_suite(folder: Path, parcel: _SetupFiles) -> Failure | None:
    """Adds a suite's folder without the programs that its build makes. Raises OSError, ValueError."""
    suite = read_own_suite(folder)
    if isinstance(suite, Failure):
        return suite
    home = folder.expanduser().resolve()
    made = () if suite.program is None else (suite.program.run, *suite.program.files)
    for path in _files(home):
        relative = str(path.relative_to(home))
        if relative not in made or not path.read_bytes().startswith(_ELF):
            parcel.put(f"{home.name}/{relative}", path)
    return None


def _take_data(path: Path, parcel: _SetupFiles) -> str:
    """Adds a data file, or all files of a folder. Returns its name. Raises OSError, ValueError."""
    home = path.expanduser().resolve()
    name = f"data/{home.name}"
    if not home.is_dir():
        return parcel.put(name, home)
    files = list(_files(home))
    if not files:
        raise ValueError(f"{path} is an empty folder")
    for file in files:
        parcel.put(f"{name}/{file.relative_to(home)}", file)
    return name


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in _LEFT_OUT:
            continue
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise ValueError(f"{path} is not a file or folder")
        if path.is_dir():
            yield from _files(path)
        else:
            yield path
