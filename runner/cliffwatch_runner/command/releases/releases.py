"""`cliffwatch releases`: measures the suites on several releases, and writes what changed between them."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import rich_click as click
from click.core import ParameterSource
from rich.console import Console

from cliffwatch.command import terminal
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch_runner.build.cache.entries import Stopped, hold_lock
from cliffwatch_runner.build.cache.pruning import KEEP_BUILT_BYTES
from cliffwatch_runner.command.failures import host_failure, print_failures
from cliffwatch_runner.command.options.building import build_options, take_tools
from cliffwatch_runner.command.options.cache import Size, cache_option
from cliffwatch_runner.command.options.measuring import isolation_option, profile_option
from cliffwatch_runner.command.options.suites import case_option
from cliffwatch_runner.command.releases.asked import NEWEST, Asked
from cliffwatch_runner.command.releases.measure import ReleasesRun
from cliffwatch_runner.command.releases.opening import (
    LOCK,
    check_folder,
    check_options,
    go_on,
    open_record,
)
from cliffwatch_runner.command.releases.reporting import Written, write_reports
from cliffwatch_runner.command.stopping import stopping
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.run.progress import Progress, TimedPhases, progress_display


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
    type=click.Path(path_type=Path),
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
@click.pass_context
def releases(
    context: click.RichContext,
    /,
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
    asked = Asked(
        suites=tuple(dict.fromkeys(name.strip() for name in suites.split(",") if name.strip())),
        tools=tools,
        jobs=jobs,
        **options,  # type: ignore[arg-type]  # click has checked them
    )
    asked = go_on(asked, _given(context))
    failed: list[Failure] = []
    ended = write_reports(asked.out) if report_only else _measure_and_report(asked, console, failed)
    if isinstance(ended, Failure):
        raise SystemExit(print_failures((ended,), console))
    raise SystemExit(_print(ended, tuple(dict.fromkeys(failed)), console))


def _given(context: click.Context) -> frozenset[str]:
    """The names of the options on the command line."""
    return frozenset(
        name for name in context.params if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    )


def _print(written: Written, failed: Sequence[Failure], console: Console) -> Exit:
    click.echo(written.text, nl=False)
    if written.interrupted:
        console.print("cliffwatch: interrupted. Run the same command to go on.", highlight=False)
        return Exit.INTERRUPTED
    return print_failures(failed, console) if written.empty and failed else Exit.DONE


def _measure_and_report(asked: Asked, console: Console, failed: list[Failure]) -> Written | Failure:
    """Adds to `failed` why suites could not be measured."""
    progress = TimedPhases(progress_display(console))
    request = asked.request()
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
    written = write_reports(asked.out, interrupted=stop.is_set())
    if isinstance(written, Failure) and stop.is_set():  # it ended before there was anything to report
        return Written(text="", interrupted=True, empty=True)
    return written


def _measure(
    asked: Asked, request: RunRequest, progress: Progress, stop: threading.Event, failed: list[Failure]
) -> Failure | None:
    refused = check_folder(asked.out) or check_options(asked)
    if refused is not None:
        return refused
    asked.out.mkdir(parents=True, exist_ok=True)
    waiting = "waiting for another audit in this folder to end"
    with hold_lock(asked.out / LOCK, waiting=lambda: progress.note(waiting), should_stop=stop.is_set):
        record = open_record(asked, progress)
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
