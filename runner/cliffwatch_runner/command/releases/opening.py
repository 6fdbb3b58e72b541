"""Begins an audit in a folder, or goes on with the one that it holds."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from cliffwatch.catalogue.discovery import ALL
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.releases_record import FORMAT, FORMAT_VERSION, ReleaseRecord, ReleasesRecord
from cliffwatch.reports.several.releases.folder import RECORD, read_record
from cliffwatch.suggesting import did_you_mean
from cliffwatch_runner import clock
from cliffwatch_runner.build.toolchain import find_toolchain
from cliffwatch_runner.command.releases.asked import Asked
from cliffwatch_runner.command.releases.differences import find_differences
from cliffwatch_runner.command.releases.measure import RUNS, patterns_of
from cliffwatch_runner.command.releases.trees import REPOSITORY, open_releases, reopen_releases
from cliffwatch_runner.plan.arguments import check_arguments, unmatched_patterns
from cliffwatch_runner.plan.request import RunRequest
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


def check_options(asked: Asked) -> Failure | None:
    """Returns what is wrong with the options, before anything is written or built."""
    suites = choose_suites(asked.suites)
    if isinstance(suites, Failure):
        return suites
    request = replace(asked.request(), suites=suites)
    faults = (*check_arguments(request, load_catalogue()), *_unmatched_cases(request))
    if not faults and asked.tools.build_image is not None:
        toolchain = find_toolchain(asked.tools)
        faults = toolchain if isinstance(toolchain, tuple) else ()
    return faults[0] if faults else None


def _unmatched_cases(request: RunRequest) -> tuple[Failure, ...]:
    """Failures for patterns that no case of the suites matches. Cases of BPF objects are not known yet."""
    suites = [each for each in load_catalogue().suites if each.name in request.suites]
    if any(each.program is not None and each.program.objects for each in suites):
        return ()
    cases = tuple(case.key for suite in suites for case in suite.cases(request.profile))
    return unmatched_patterns(request, cases)


def go_on(asked: Asked, given: Collection[str]) -> Asked:
    """With `--out` alone, profile and suites that are not `given` are those of the audit there."""
    known = read_record(asked.out) if not asked.trees and (asked.out / RECORD).exists() else None
    if known is None or isinstance(known, Failure):
        return asked
    return replace(
        asked,
        profile=asked.profile if "profile" in given else known.profile,
        suites=asked.suites if "suites" in given else known.suites,
    )


def choose_suites(names: Sequence[str]) -> tuple[str, ...] | Failure:
    """The named suites, in that order, or all of the catalogue for `all`."""
    known = tuple(suite.name for suite in load_catalogue().suites)
    for name in names or ("",):
        if name not in known and name != ALL:
            return wrong_usage(
                f"there is no suite '{name}'{did_you_mean(name, known)}",
                f"choose among: {', '.join([ALL, *sorted(known)])} (cliffwatch suites)",
            )
    return known if ALL in names else tuple(names)


def open_record(asked: Asked, progress: Progress) -> ReleasesRecord | Failure:
    """Begins an audit, or goes on with that of the folder if it is the same one."""
    chosen = choose_suites(asked.suites)
    known = _read_known(asked.out)
    if isinstance(chosen, Failure):
        return chosen
    suites = tuple(patterns_of(asked.cases, chosen, asked.profile))
    if isinstance(known, Failure):
        return known
    releases = _open_trees(asked, known, progress)
    if isinstance(releases, Failure):
        return releases
    if known is None or (asked.trees and not known.runs and not (asked.out / RUNS).exists()):
        return ReleasesRecord(
            format=FORMAT,
            format_version=FORMAT_VERSION,
            created=clock.now().isoformat(),
            profile=asked.profile,
            releases=releases,
            suites=suites,
            settings=asked.settings(),
        )
    different = find_differences(known, releases, asked)
    if different is not None:
        return different
    return msgspec.structs.replace(known, suites=tuple(dict.fromkeys((*known.suites, *suites))))


def _open_trees(
    asked: Asked, known: ReleasesRecord | None, progress: Progress
) -> tuple[ReleaseRecord, ...] | Failure:
    """The releases of the command line, or else the recorded ones: their trees may have changed since."""
    count = len(asked.trees) if known is None or asked.trees else len(known.releases)
    progress.begin("trees", count_noun(count, "release"))
    releases = (
        open_releases(asked.trees, asked.cache, asked.out)
        if known is None or asked.trees
        else reopen_releases(known.releases, asked.cache, asked.out)
    )
    if not isinstance(releases, Failure):
        progress.end(", ".join(each.version for each in releases))
    return releases


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
