"""User input to a run besides the tree: suite folders, arguments for the tree's own benchmarks, and data."""

import hashlib
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from cliffwatch.catalogue.discovery import ALL, AUTO, DISCOVERED
from cliffwatch.catalogue.load import Catalogue
from cliffwatch.catalogue.read import read_suite
from cliffwatch.catalogue.suite import Suite
from cliffwatch.counting import count_noun, size_text
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.guest.programs import DATA_WORD, GuestData
from cliffwatch_runner.objects.folder import objects_of_folder
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.selection import choose_suites

LARGEST_DATA_BYTES = 64 << 20
"""The data stays in the guest's memory while programs read it."""

_LONGEST_ARGUMENTS = 200
"""Characters. The arguments are a parameter of the case, and so part of its series' name."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)


def collect_suites(request: RunRequest, catalogue: Catalogue) -> tuple[Suite, ...] | Failure:
    """Returns the named suites of the catalogue, then those of the user's folders."""
    named = () if request.own_suites and not request.suites else choose_suites(catalogue, request.suites)
    if isinstance(named, Failure):
        return named
    chosen = list(named)
    taken = {suite.name for suite in catalogue.suites} | {ALL, AUTO, DISCOVERED}
    for folder in request.own_suites:
        suite = read_own_suite(folder)
        if isinstance(suite, Failure):
            return suite
        if suite.name in taken:
            return wrong_usage(
                f"--suite {folder}: there is already a suite '{suite.name}', "
                "and results are stored by suite name",
                "rename the folder",
            )
        taken.add(suite.name)
        chosen.append(suite)
    return tuple(chosen)


def read_own_suite(folder: Path) -> Suite | Failure:
    """Reads the suite of a folder. A Failure lists all faults of its suite.toml as evidence."""
    home = folder.expanduser().resolve()
    if not (home / "suite.toml").is_file():
        what = f"has no suite.toml in {home}" if home.is_dir() else "is not a folder"
        return wrong_usage(
            f"--suite {folder} {what}", 'docs/suites.md, "Your own suite", shows how to write one'
        )
    if not _NAME.fullmatch(home.name):
        return wrong_usage(
            f"--suite {folder}: '{home.name}' cannot be the name of a suite",
            "rename the folder: use letters, digits, '-', '_' and '.'",
        )
    suite = read_suite(home / "suite.toml")
    if isinstance(suite, Suite):
        return suite
    more = f", and {count_noun(len(suite) - 1, 'fault')} more" if len(suite) > 1 else ""
    return wrong_usage(
        f"{suite[0]}{more}",
        f"fix the file, then check it with `cliffwatch suites check {folder}`",
        "\n".join(map(str, suite[1:20])),
    )


def check_programs_input(request: RunRequest, suites: Sequence[Suite]) -> Iterator[Failure]:
    """Yields the faults of the programs' arguments and data, before anything is fetched."""
    discovers = DISCOVERED in request.suites
    args = request.bench_args
    if args and not discovers:
        yield wrong_usage(
            "--bench-args is for benchmarks that only the tree has: suites have their own arguments",
            f"add --suite {DISCOVERED}, or write your own suite (docs/suites.md)",
        )
    if any(not word.isprintable() for word in args) or sum(map(len, args)) + len(args) > _LONGEST_ARGUMENTS:
        yield wrong_usage(
            f"--bench-args takes at most {_LONGEST_ARGUMENTS} printable characters",
            "put the rest into a file, and name it with --data",
        )
    words = [
        *args,
        *(word for suite in suites for case in suite.cases(request.profile) for word in case.argv),
    ]
    if request.data is None and any(DATA_WORD in word for word in words):
        yield wrong_usage(f"{DATA_WORD} stands for a file, but none was given", "name it with --data FILE")
    read = any(suite.program is not None and suite.program.reads_data for suite in suites)
    folder = request.data is not None and request.data.is_dir()
    objects = any(suite.program is not None and suite.program.objects for suite in suites)
    if request.data is not None and not folder and not discovers and not request.own_suites and not read:
        yield wrong_usage(
            "no program of this run reads --data: only your own suites do, some of the catalogue, "
            "and benchmarks that only the tree has",
            f"leave it out, or add --suite string-maps, --suite {DISCOVERED} or --suite ./FOLDER",
        )
    if folder and not objects:
        yield wrong_usage(
            "--data: only suites of BPF objects take a folder, and this run has none",
            "name a file, or add --suite veristat or --suite prog-run",
        )


def read_data(path: Path | None) -> GuestData | Failure | None:
    """Reads the data file, or the objects of a folder. None without a path.

    Every boot of the run gets this content, even if the file changes later.
    """
    if path is None:
        return None
    if path.is_dir():
        return objects_of_folder(path, LARGEST_DATA_BYTES)
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return wrong_usage(f"--data: {path} is not a regular file", "name a file")
        with path.open("rb") as file:
            content = file.read(LARGEST_DATA_BYTES + 1)
    except OSError as error:
        return wrong_usage(f"--data: {path} cannot be read: {error.strerror}", "check the path")
    if len(content) > LARGEST_DATA_BYTES:
        size = size_text(max(about.st_size, len(content)))
        return wrong_usage(
            f"--data: {path} has {size}; a guest takes at most {size_text(LARGEST_DATA_BYTES)}",
            "give a part of it: the guest keeps it in its memory",
        )
    name = path.name if _NAME.fullmatch(path.name) else "data"
    return GuestData(name=name, content=content, digest=hashlib.sha256(content).hexdigest())
