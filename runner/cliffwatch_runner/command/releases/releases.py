"""`cliffwatch releases`: measures the suites on several releases, and writes what changed between them."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import msgspec
import rich_click as click
from rich.console import Console

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.command import terminal
from cliffwatch.counting import count_noun
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch.formats.releases_record import FORMAT, FORMAT_VERSION, ReleaseRecord, ReleasesRecord
from cliffwatch.reports.several.releases.reading import RECORD, read_record
from cliffwatch.samples import Profile
from cliffwatch_runner import clock
from cliffwatch_runner.build.cache.entries import Stopped, hold_lock
from cliffwatch_runner.build.cache.pruning import KEEP_BUILT_BYTES
from cliffwatch_runner.build.toolchain import ToolChoice
from cliffwatch_runner.command.failures import host_failure, print_failures
from cliffwatch_runner.command.options.building import build_options, take_tools
from cliffwatch_runner.command.options.cache import Size, cache_option
from cliffwatch_runner.command.options.measuring import isolation_option, make_request, profile_option
from cliffwatch_runner.command.options.suites import case_option
from cliffwatch_runner.command.releases.measure import ReleasesRun
from cliffwatch_runner.command.releases.reporting import Written, write_reports
from cliffwatch_runner.command.releases.trees import open_releases
from cliffwatch_runner.command.stopping import stopping
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.run.progress import Progress, TimedPhases, progress_display
from cliffwatch_runner.sandbox.isolation import IsolationChoice

NEWEST = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The options."""

    trees: tuple[str, ...]
    suites: tuple[str, ...]
    cases: tuple[str, ...]
    profile: Profile
    boots: int | None
    out: Path
    cache: Path
    cache_size: int
    bench_from: str
    fragments: tuple[Path, ...]
    tools: ToolChoice
    jobs: int
    isolation: IsolationChoice
    cpus: int | None

    def settings(self) -> dict[str, object]:
        """What decides the measurements, besides releases, suites and profile."""
        tools = {name: getattr(self.tools, name) for name in ("cc", "clang", "pahole", "build_image")}
        return {
            "bench_from": self.bench_from,
            "boots": self.boots,
            "cases": list(self.cases),
            "config": [path.name for path in self.fragments],
            **{name: value for name, value in tools.items() if value is not None},
            **({} if self.cpus is None else {"cpus": self.cpus}),
        }


@click.command()
@click.option(
    "--tree",
    "trees",
    multiple=True,
    metavar="TREE[@REV]",
    help="A release: git repository, URL, unpacked source folder or source archive; may be repeated. "
    "Without any, those of the folder of --out.",
)
@click.option(
    "--suite", "suites", default="all", show_default=True, help="Suites, separated by commas; `all`."
)
@case_option
@profile_option("Cases of the suites, and how long each is measured.")
@click.option(
    "--boots",
    type=click.IntRange(1, 42),
    help="Boots per release; default: 1 in profile smoke, else 2, and 6 of cases whose counts do not repeat.",
)
@click.option(
    "--bench-from",
    default=NEWEST,
    show_default=True,
    metavar="RELEASE",
    help="Release, such as 6.12, whose bench measures all kernels. Where it does not load, each release is "
    "measured with its own, and nothing is compared.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of results and reports. An audit that was begun there is resumed.",
)
@cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch.")
@click.option(
    "--cache-size",
    type=Size(),
    default=KEEP_BUILT_BYTES,
    show_default="5G",
    help="Size of kernels, benches, programs and guest roots to keep.",
)
@build_options
@click.option(
    "--cpus",
    type=click.IntRange(1, 256),
    help="CPUs of the guest; default: 1. Some suites need more: sockmap.",
)
@isolation_option(
    "Isolation of the trees' code from this host; none must be chosen explicitly, and the results record it."
)
@click.option("--report-only", is_flag=True, help="Measure nothing: write the reports of what --out holds.")
def releases(
    *,
    suites: str,
    report_only: bool,
    **options: object,
) -> NoReturn:
    """Measure the suites on several kernel releases, and report what became slower or faster between them.

    Counts instructions (icount). Writes OUT/report.md, a static site in OUT/site and every sample in
    OUT/data. ^C is safe at any time: the same command goes on where it was.
    """
    console = terminal.console(stderr=True)
    tools, jobs = take_tools(options)
    asked = _Asked(
        suites=tuple(dict.fromkeys(name.strip() for name in suites.split(",") if name.strip())),
        tools=tools,
        jobs=jobs,
        **options,  # type: ignore[arg-type]  # click has checked them
    )
    failed: list[Failure] = []
    ended = (
        write_reports(asked.out, whole=True) if report_only else _measure_and_report(asked, console, failed)
    )
    if isinstance(ended, Failure):
        raise SystemExit(print_failures((ended,), console))
    raise SystemExit(_print(ended, tuple(dict.fromkeys(failed)), console))


def _print(written: Written, failed: Sequence[Failure], console: Console) -> Exit:
    click.echo(written.text, nl=False)
    if written.interrupted:
        console.print("cliffwatch: interrupted. Run the same command to go on.", highlight=False)
        return Exit.INTERRUPTED
    return print_failures(failed, console) if written.empty and failed else Exit.DONE


def _measure_and_report(asked: _Asked, console: Console, failed: list[Failure]) -> Written | Failure:
    """Adds to `failed` why suites could not be measured."""
    progress = TimedPhases(progress_display(console))
    request = _request(asked)
    with stopping() as stop:
        try:
            measured = _measure(asked, request, progress, stop, failed)
        except Stopped:
            measured = None
        except OSError as error:
            measured = host_failure(error, request)
        finally:
            progress.close()
    if measured is not None:
        return measured
    return write_reports(asked.out, interrupted=stop.is_set())


def _measure(
    asked: _Asked, request: RunRequest, progress: Progress, stop: threading.Event, failed: list[Failure]
) -> Failure | None:
    asked.out.mkdir(parents=True, exist_ok=True)
    waiting = "waiting for another audit in this folder to end"
    with hold_lock(asked.out / ".lock", waiting=lambda: progress.note(waiting), should_stop=stop.is_set):
        record = _open_record(asked, progress)
        if isinstance(record, Failure):
            return record
        names = [release.name for release in record.releases]
        bench = names[-1] if asked.bench_from == NEWEST else asked.bench_from
        if bench not in names:
            return wrong_usage(f"there is no release {bench}", f"name one of {', '.join(names)}")
        ReleasesRun(
            folder=asked.out,
            record=record,
            request=replace(request, bench_from=bench),
            progress=progress,
            stop=stop,
            failed=failed,
        ).measure()
    return None


def _open_record(asked: _Asked, progress: Progress) -> ReleasesRecord | Failure:
    """Begins an audit, or goes on with that of the folder if it is the same one."""
    suites = _suites(asked.suites)
    if isinstance(suites, Failure):
        return suites
    known = read_record(asked.out) if (asked.out / RECORD).exists() else None
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
    known: ReleasesRecord, releases: tuple[ReleaseRecord, ...], suites: tuple[str, ...], asked: _Asked
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


def _request(asked: _Asked) -> RunRequest:
    """What all runs share."""
    return make_request(
        tree="",
        base=None,
        head=None,
        patch=None,
        suites=(),
        profile=asked.profile,
        mode="icount",
        boots=asked.boots,
        cpus=asked.cpus,
        cache=asked.cache,
        cache_size=asked.cache_size,
        tools=asked.tools,
        fragments=asked.fragments,
        jobs=asked.jobs,
        isolation=asked.isolation,
        cases=asked.cases,
        releases=True,
    )
