"""Begins an audit in a folder, or goes on with the one that it holds."""

from pathlib import Path

import msgspec

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.releases_record import FORMAT, FORMAT_VERSION, ReleaseRecord, ReleasesRecord
from cliffwatch.reports.several.releases.folder import RECORD, read_record
from cliffwatch_runner import clock
from cliffwatch_runner.command.releases.asked import Asked
from cliffwatch_runner.command.releases.measure import RUNS
from cliffwatch_runner.command.releases.trees import REPOSITORY, open_releases
from cliffwatch_runner.plan.writable_folders import check_results
from cliffwatch_runner.run.progress import Progress

LOCK = ".lock"
_BEFORE_THE_RECORD = (LOCK, REPOSITORY, f".{RECORD}.writing")
"""What an audit may have written when it ended before its record."""


def check_folder(out: Path) -> Failure | None:
    """Returns why no audit can be in a folder. It need not exist yet, and is left as it is."""
    refused = check_results(out)
    if refused is not None or not out.exists() or (out / RECORD).exists():
        return refused
    others = sorted(each.name for each in out.iterdir() if each.name not in _BEFORE_THE_RECORD)
    if not others:
        return None
    return wrong_usage(
        f"{out} holds no audit but other files, such as {others[0]}",
        "name a new or an empty folder with --out",
    )


def open_record(asked: Asked, progress: Progress) -> ReleasesRecord | Failure:
    """Begins an audit, or goes on with that of the folder if it is the same one."""
    suites = _suites(asked.suites)
    if isinstance(suites, Failure):
        return suites
    known = _read_known(asked.out)
    if isinstance(known, Failure):
        return known
    trees = asked.trees or tuple(each.tree for each in known.releases) if known else asked.trees
    progress.begin("trees", count_noun(len(trees), "release"))
    releases = open_releases(trees, asked.cache, asked.out)
    if isinstance(releases, Failure):
        return releases
    progress.end(", ".join(each.version for each in releases))
    if known is None:
        return ReleasesRecord(
            format=FORMAT,
            format_version=FORMAT_VERSION,
            created=clock.now().isoformat(),
            profile=asked.profile,
            releases=releases,
            suites=suites,
            settings=asked.settings(),
        )
    return _resume(known, releases, suites, asked)


def _resume(
    known: ReleasesRecord, releases: tuple[ReleaseRecord, ...], suites: tuple[str, ...], asked: Asked
) -> ReleasesRecord | Failure:
    """The record with the suites that were added. Anything else that differs is another audit."""
    other = [
        what
        for what, differs in (
            ("releases", [each.commit for each in known.releases] != [each.commit for each in releases]),
            ("profile", known.profile != asked.profile),
            ("options", known.settings != asked.settings()),
        )
        if differs
    ]
    if other:
        return wrong_usage(
            f"{asked.out} holds an audit with other {' and '.join(other)}",
            "give its options again to go on with it, or another folder as --out",
        )
    return msgspec.structs.replace(known, suites=tuple(dict.fromkeys((*known.suites, *suites))))


def _suites(asked: tuple[str, ...]) -> tuple[str, ...] | Failure:
    names = tuple(suite.name for suite in load_catalogue().suites)
    if not asked or asked == ("all",):
        return names
    unknown = [name for name in asked if name not in names]
    if unknown:
        return wrong_usage(
            f"there is no suite {unknown[0]}", f"name suites of `cliffwatch suites`: {', '.join(names)}"
        )
    return asked


def _read_known(folder: Path) -> ReleasesRecord | Failure | None:
    """The record of the folder's audit; None if it has none yet.

    A copy without any of its runs is refused: measuring would replace its report by an empty one.
    """
    if not (folder / RECORD).exists():
        return None
    known = read_record(folder)
    if isinstance(known, Failure) or not known.runs:
        return known
    if any((folder / each.folder).exists() for each in known.runs):
        return known
    return wrong_usage(
        f"{folder} has the report of an audit without its runs",
        f"copy {folder / RUNS} there too, or measure into another folder with --out",
    )
