"""The setup of a request: arms, guest shapes, its own suites, and their files.

A request without a setup compares two revisions with suites of the catalogue.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from cliffwatch.counting import count_noun, size_text
from cliffwatch.formats.values import MOST_ARMS, Commit, Count, Part
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import ANCHOR, AUXILIARY_ARMS, BOOTS_WORDS, DEFAULT_BOOTS
from cliffwatch.stats.stages import ADAPTIVE, CAREFUL

LARGEST_FILES_BYTES = 4 << 20
"""The largest size of all files of a request together. They are sent in one document."""

MOST_FILES = 200
MOST_SHAPES = 8

FileName = Annotated[
    str,
    Meta(
        max_length=200,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+-]*){0,7}(?![\s\S])",
    ),
]
"""A relative path. None of its parts begins with a dot."""

FolderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}(?![\s\S])")]
ArmName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}(?![\s\S])")]
Argument = Annotated[str, Meta(max_length=200, pattern=r"^[\x21-\x7e]+(?![\s\S])")]
Value = Annotated[str, Meta(max_length=200, pattern=r"^[\x20-\x7e]+(?![\s\S])")]
Compiler = Annotated[str, Meta(pattern=r"^(?:gcc|clang)(?:-[0-9]{1,2}(?:\.[0-9]{1,2})?)?(?![\s\S])")]
Image = Annotated[str, Meta(max_length=200, pattern=r"^[a-z0-9][A-Za-z0-9_./:@-]*(?![\s\S])")]
ModulePath = Annotated[str, Meta(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._~/-]*(?![\s\S])")]
ModuleVersion = Annotated[str, Meta(pattern=r"^(?:v[0-9][0-9A-Za-z.+-]{0,80}|[0-9a-f]{7,40})(?![\s\S])")]
Cpus = Annotated[int, Meta(ge=1, le=255)]
MOST_ASKED_LAYOUTS = 100
Layouts = Annotated[int, Meta(ge=1, le=MOST_ASKED_LAYOUTS)]
LONGEST_HOURS = 168
"""The longest time that can be asked for: a week."""
Seconds = Annotated[float, Meta(ge=1, le=LONGEST_HOURS * 3600)]
TIME_CHOICES = f"one such as 20m, 1.5h or 90s, at most {LONGEST_HOURS}h"
_TIME = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def parse_time(text: str) -> float | None:
    """Returns the seconds of a time such as `20m`; None if it is none, below a second, or too long."""
    given = _TIME.fullmatch(text)
    seconds = 0.0 if given is None else float(given[1]) * _SECONDS[given[2]]
    return seconds if 1 <= seconds <= LONGEST_HOURS * 3600 else None


class SetupFile(Part, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A file of a request. Its content is fetched by its name."""

    name: FileName
    bytes: Count
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")]
    executable: bool = False


class SetupArm(Part, omit_defaults=True, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """An arm of a request: a revision with patches and settings."""

    name: ArmName
    rev: Commit
    patch: Annotated[tuple[FileName, ...], Meta(max_length=100)] = ()
    """Files of the request."""
    series: FileName | None = None
    """A mailbox among the files."""
    boot: Annotated[tuple[Argument, ...], Meta(max_length=50)] = ()
    """Boot arguments."""
    sysctl: Annotated[dict[Value, Value], Meta(max_length=50)] = msgspec.field(default_factory=dict)
    param: Annotated[dict[Value, Value], Meta(max_length=50)] = msgspec.field(default_factory=dict)
    """Module parameters by MODULE.NAME."""
    config: Annotated[tuple[FileName, ...], Meta(max_length=20)] = ()
    """Fragments of configuration among the files."""
    module: Annotated[dict[ModulePath, ModuleVersion], Meta(max_length=20)] = msgspec.field(
        default_factory=dict
    )
    """Go modules of a suite's program, with versions."""
    cc: Compiler | None = None
    """Compiler; None for the host's default."""

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.patch, *((self.series,) if self.series is not None else ()), *self.config)


class SetupShape(Part, omit_defaults=True, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A guest shape for all cases that do not set their own. A member is null if the host decides."""

    cpus: Cpus | None = None
    possible_cpus: Cpus | None = None
    numa_nodes: Annotated[int, Meta(ge=1, le=16)] | None = None

    def word(self) -> str:
        """Formats the shape for `cliffwatch run --shape`."""
        named = {name.replace("_", "-"): getattr(self, name) for name in self.__struct_fields__}
        return " ".join(f"{name}={value}" for name, value in named.items() if value is not None)


class Setup(Part, omit_defaults=True, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What a request sets up besides two revisions and suites of the catalogue."""

    arms: Annotated[tuple[SetupArm, ...], Meta(max_length=MOST_ARMS - 1)] = ()
    shapes: Annotated[tuple[SetupShape, ...], Meta(max_length=MOST_SHAPES)] = ()
    folders: Annotated[tuple[FolderName, ...], Meta(max_length=10)] = ()
    """Suites of its own; names of their files begin with the folder and a slash."""
    bench_args: Annotated[tuple[Argument, ...], Meta(max_length=50)] = ()
    """Arguments for benchmarks that only the tree has."""
    data: FileName | None = None
    """A file that programs read, or a folder: the files whose names begin with it and a slash."""
    build_image: Image | None = None
    """One that the host offers."""
    files: Annotated[tuple[SetupFile, ...], Meta(max_length=MOST_FILES)] = ()
    only_affected: bool = False
    """Leave out cases that execute no code that differs, if the host knows what they execute."""
    layouts: Layouts | None = None
    """Images of each kernel that differ only in where code lies, in walltime; None for the default."""
    matched: bool = False
    """In walltime, boots that confirm a change also boot head in base's layouts."""
    seconds: Seconds | None = None
    """Time for boots and links in walltime; None if boots are planned by number."""

    @property
    def of_walltime(self) -> tuple[str, ...]:
        """The options that only walltime has, as `cliffwatch run` names them."""
        given = {"layouts": self.layouts not in (None, 1), "matched": self.matched, "time": self.seconds}
        return tuple(name for name, value in given.items() if value)

    def walltime_options(self, mode: str) -> tuple[str, ...]:
        """Returns layouts, matched and time as words of `cliffwatch run`; none for icount."""
        if mode != "walltime":
            return ()
        layouts = () if self.layouts is None else ("--layouts", str(self.layouts))
        matched = ("--matched",) if self.matched else ()
        return (*layouts, *matched, *(() if self.seconds is None else ("--time", f"{self.seconds:.0f}s")))

    @property
    def most_cpus(self) -> int:
        """CPUs of the largest guest shape; 0 if no shape sets them."""
        return max((shape.cpus or 0 for shape in self.shapes), default=0)


NO_SETUP = Setup()


def build_anchored_arms(base: str, head: str, anchor: str) -> tuple[SetupArm, ...]:
    """Returns base, head and the anchor as arms."""
    return tuple(
        SetupArm(name=name, rev=rev) for name, rev in (("base", base), ("head", head), (ANCHOR, anchor))
    )


class SetupContent(Part, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The content of a request's file, in Base64."""

    name: FileName
    content: bytes


def find_problem(setup: Setup) -> Problem | None:
    """Returns the first problem of a setup as a whole; None if there is none."""
    return next((Problem(reason=reason) for reason in _faults(setup)), None)


def _faults(setup: Setup) -> Iterator[str]:
    names = [arm.name for arm in setup.arms]
    twice = sorted({name for name in names if names.count(name) > 1})
    if len(names) == 1:
        yield "a request compares at least two arms, and one is named"
    if twice:
        yield f"two arms are called {twice[0]!r}"
    second = [name for name in names if name in AUXILIARY_ARMS]
    if second:
        yield f"{second[0]!r} is the name of a second arm of base or head, and no arm can have it"
    for arm in setup.arms:
        if arm.patch and arm.series is not None:
            yield f"arm {arm.name!r} names a series and a patch: put the patch into the series"
    files = {file.name for file in setup.files}
    if len(files) < len(setup.files):
        yield "two files have one name"
    within = sorted(name for name in files if any(other.startswith(f"{name}/") for other in files))
    if within:
        yield f"{within[0]!r} is both a file and a folder"
    missing = _named_files(setup, files) - files
    if missing:
        yield f"the file {min(missing)!r} is named but was not sent"
    yield from _faults_of_files(setup.files)
    yield from (conflict.reason for conflict in _conflicts(setup))
    if not all(shape.word() for shape in setup.shapes):
        yield f"a shape is empty: give {', '.join(SetupShape.__struct_fields__)}"


_SCREENS: Mapping[str, int] = {
    "auto": ADAPTIVE.screen,
    "staged": ADAPTIVE.screen,
    "careful": CAREFUL.screen,
}
"""Boots of each kernel that share its layouts in walltime, by the word for boots: those of the screen."""


class Conflict(NamedTuple):
    """Options of walltime that do not go together."""

    option: str
    """The one to change: `layouts`, `matched`, `time` or `boots`."""
    reason: str


def find_conflict(setup: Setup, boots: str, modes: Collection[str]) -> Conflict | None:
    """Returns the first conflict of the walltime options with each other, with the boots and with the modes.

    `boots` is `auto`, `staged`, `careful` or a number.
    """
    found = (*_conflicts(setup), *_conflicts_with(setup, boots, modes))
    return next(iter(found), None)


def _conflicts(setup: Setup) -> Iterator[Conflict]:
    if setup.matched and setup.layouts == 1:
        yield Conflict(
            "matched",
            "with one layout of each kernel there is none to match: ask for more, or for no matched ones",
        )
    if setup.seconds is not None and (setup.matched or setup.layouts not in (None, 1)):
        yield Conflict(
            "time", "a time chooses the layouts itself and has no matched ones: give the time alone"
        )


def _conflicts_with(setup: Setup, boots: str, modes: Collection[str]) -> Iterator[Conflict]:
    by_word = boots in BOOTS_WORDS
    shared = _SCREENS[boots] if by_word else int(boots)
    if setup.of_walltime and set(modes) == {"icount"}:
        named = ", ".join(setup.of_walltime)
        yield Conflict(setup.of_walltime[0], f"{named}: only for walltime, and no target is in walltime")
    if setup.seconds is not None and boots != DEFAULT_BOOTS:
        yield Conflict(
            "boots", f"a time chooses the number of boots: leave out the time, or ask for {DEFAULT_BOOTS}"
        )
    if setup.matched and not by_word:
        yield Conflict(
            "boots", "only boots that confirm a change are matched: ask for staged or careful boots"
        )
    if shared < (setup.layouts or 1):
        yield Conflict(
            "layouts",
            f"{setup.layouts} layouts cannot share {count_noun(shared, 'boot')} of each kernel: ask for"
            " fewer, or for more boots",
        )


def _named_files(setup: Setup, sent: set[str]) -> set[str]:
    names = {name for arm in setup.arms for name in arm.files}
    names |= {f"{folder}/suite.toml" for folder in setup.folders}
    is_folder = setup.data is not None and any(name.startswith(f"{setup.data}/") for name in sent)
    return names if setup.data is None or is_folder else {*names, setup.data}


def _faults_of_files(files: Iterable[SetupFile]) -> Iterator[str]:
    total = sum(file.bytes for file in files)
    if total > LARGEST_FILES_BYTES:
        limit = size_text(LARGEST_FILES_BYTES)
        yield f"the files have {size_text(total)}, more than {limit} in all: measure it with `cliffwatch run`"
