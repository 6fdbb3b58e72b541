"""`cliffwatch run`: builds, measures and reports on this machine."""

import threading
from pathlib import Path
from typing import Any, NoReturn, get_args

import rich_click as click
from rich.console import Console

from cliffwatch.command import terminal
from cliffwatch.command.compare import report_of_run
from cliffwatch.command.numbers import FiniteRange
from cliffwatch.command.report_options import ReportOptions, report_options
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch.samples import DEFAULT_BOOTS, DEFAULT_MODE
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.build.cache.pruning import KEEP_BUILT_BYTES
from cliffwatch_runner.command.failures import host_failure, print_failures
from cliffwatch_runner.command.options.arms import arm_options, take_arms, take_range
from cliffwatch_runner.command.options.building import build_options, take_tools
from cliffwatch_runner.command.options.cache import Size, cache_option
from cliffwatch_runner.command.options.measuring import (
    BOTH,
    AskedMode,
    accel_option,
    isolation_option,
    layouts_option,
    matched_option,
    mode_option,
    pin_option,
    platform_option,
    profile_option,
    time_option,
)
from cliffwatch_runner.command.options.suites import case_option, suite_options, take_suites
from cliffwatch_runner.command.options.values import boots, counts
from cliffwatch_runner.command.sending.uploading import upload_folder, upload_token
from cliffwatch_runner.command.stopping import stopping
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.plan.shapes import MOST_CPUS
from cliffwatch_runner.plan.text import plan_text
from cliffwatch_runner.run.modes.both import FinishedModes, requests_of_modes, run_both
from cliffwatch_runner.run.progress import Progress, TimedPhases, progress_display
from cliffwatch_runner.run.run import plan_only
from cliffwatch_runner.run.run import run as carry_out
from cliffwatch_runner.source.access import ACCESSES, Trust

_SEVERAL_IN_ONE_TEXT = ("text", "commit", "markdown")
"""Report formats that can be concatenated."""


@click.command()
@click.argument("revisions", metavar="[BASE..HEAD]", required=False)
@click.option(
    "--tree",
    default=".",
    show_default=True,
    help="Kernel tree: git repository, URL, unpacked source folder or source archive.",
)
@click.option(
    "--tree-access",
    type=click.Choice(ACCESSES),
    default="own",
    show_default=True,
    help=(
        "Right to fetch the tree. own: your tree, with your keys and credentials; allowed: somebody else's, "
        "without them, from addresses that an administrator allows; public: the same, from public addresses "
        "only."
    ),
)
@arm_options
@suite_options
@case_option
@profile_option("Cases of the suites, and how long each is measured.")
@mode_option(
    "Mode of measuring. walltime needs KVM and a host set up for it. both: icount, then walltime for the "
    "cases in which icount shows no change, or that --case names.",
    both=True,
)
@accel_option
@platform_option
@click.option(
    "--boots",
    default=DEFAULT_BOOTS,
    show_default=True,
    callback=boots,
    help=(
        "Boots per kernel. staged: 10 of all cases, then up to 42 of those still open; careful: 21, then up "
        "to 30; auto: staged in walltime, 1 or 2 in icount. With --mode both: for walltime."
    ),
)
@layouts_option
@time_option
@matched_option
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="Seed of the order and the layouts.",
)
@click.option(
    "--bench-from",
    default="head",
    show_default=True,
    metavar="ARM|REV",
    help="Arm or revision whose bench measures all kernels.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Result directory; default: a new one under cliffwatch-results. "
    "With --mode both: folder of icount/ and walltime/.",
)
@cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch.")
@click.option(
    "--cache-size",
    type=Size(),
    default=KEEP_BUILT_BYTES,
    show_default="5G",
    help="Size of kernels, benches, programs and guest roots to keep after the run; "
    "the least recently used are removed first.",
)
@build_options
@click.option(
    "--cpus",
    type=click.IntRange(1, MOST_CPUS),
    help="CPUs of the guest; default: 1 in icount, 4 in walltime.",
)
@click.option(
    "--memory",
    "memory_mib",
    type=click.IntRange(512),
    help="Memory of the guest in MiB; default: what the cases need.",
)
@pin_option
@click.option(
    "--guest-root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Root file system of the guest; default: that of --build-image, else the host's programs.",
)
@click.option(
    "--hang-after",
    type=FiniteRange(10),
    default=60.0,
    show_default=True,
    help="Seconds of the guest's clock without a sign of life, in addition to the time of its case, after "
    "which the guest counts as hung.",
)
@click.option(
    "--trust",
    type=click.Choice(get_args(Trust)),
    default="local",
    show_default=True,
    help=(
        "Owner of the tree. local: you; followed: a branch that a service follows; each of the two keeps its "
        "own build output and ccache for the next build. outside: anybody; these builds start empty and "
        "keep nothing."
    ),
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    help="Limit of a build on this host: memory=32G, processes=8192, disk=100G, hours=6; may be repeated.",
)
@isolation_option(
    "Isolation of the tree's code from this host; none must be chosen explicitly, and the results record it."
)
@click.option(
    "--function-counts/--no-function-counts",
    default=True,
    show_default=True,
    help="Count instructions by function as well (icount).",
)
@click.option(
    "--perf-profile",
    is_flag=True,
    help="Boot changed cases once more under perf, base and head: functions by share of time, cache and "
    "branch misses.",
)
@click.option(
    "--only-affected",
    metavar="[DIR]",
    is_flag=False,
    flag_value="kept",
    callback=counts,
    help=(
        "Measure only the cases that the change can affect, by the functions that they execute. The counts "
        "are those of the result directory DIR, or without DIR those of earlier runs of base's kernel in "
        "the cache."
    ),
)
@click.option(
    "--upload", metavar="URL", help="Service to upload the results to, with the token in CLIFFWATCH_TOKEN."
)
@click.option("--dry-run", is_flag=True, help="Print the plan and do nothing.")
@report_options
def run(**options: Any) -> NoReturn:
    """Build kernels, or take prebuilt ones, boot them, run BPF benchmarks, and report what changed.

    BASE..HEAD is short for --base and --head. ^C is safe at any time: the same command resumes after the
    boots that are done.
    """
    report = options.pop("report")
    take_range(options)
    dry_run, upload = options.pop("dry_run"), options.pop("upload")
    console = terminal.console(stderr=True)
    mode: AskedMode = options.pop("mode")
    unwritable = _check_report_format(report) if mode == BOTH else None
    request = unwritable or _request(report, mode=DEFAULT_MODE if mode == BOTH else mode, **options)
    if isinstance(request, Failure):
        raise SystemExit(print_failures([request], console))
    token = upload_token(upload)
    if isinstance(token, Failure):
        raise SystemExit(print_failures([token], console))
    progress = TimedPhases(progress_display(console))
    with stopping() as stop:
        try:
            if dry_run:
                raise SystemExit(_print_plans(request, mode, progress, console))
            ended = _measure(request, mode, progress, stop)
        except Stopped:
            raise SystemExit(_report_interruption(progress, console, None)) from None
        except OSError as error:
            ended = (host_failure(error, request),)
        finally:
            progress.close()
    if isinstance(ended, tuple):
        raise SystemExit(print_failures(ended, console))
    if ended.interrupted:
        raise SystemExit(_report_interruption(progress, console, ended))
    codes = [report_of_run(folder, report) for folder in ended.folders]
    console.print(f"took {progress.summary()}", highlight=False, soft_wrap=True)
    uploaded = [
        upload_folder(folder, upload, token, console) for folder in ended.folders if upload is not None
    ]
    failed = [print_failures(ended.failures, console)] if ended.failures else []
    raise SystemExit(next((code for code in (*failed, *uploaded, *codes) if code), Exit.DONE))


def _measure(
    request: RunRequest, mode: AskedMode, progress: Progress, stop: threading.Event
) -> FinishedModes | tuple[Failure, ...]:
    if mode == BOTH:
        return run_both(request, progress, stop)
    ended = carry_out(request, progress, stop)
    return (
        ended
        if isinstance(ended, tuple)
        else FinishedModes(folders=(ended.folder,), interrupted=ended.interrupted)
    )


def _check_report_format(report: ReportOptions) -> Failure | None:
    """Returns a failure if the requested format or file cannot hold the reports of both modes."""
    if report.out is None and report.reply is None and report.format in _SEVERAL_IN_ONE_TEXT:
        return None
    return wrong_usage(
        "--mode both writes two reports, and this format or file holds only one",
        "run without the format or file, then use `cliffwatch compare DIR` on each result directory",
    )


def _request(report: ReportOptions, **options: Any) -> RunRequest | Failure:
    tools, jobs = take_tools(options)
    arms = take_arms(options)
    if isinstance(arms, Failure):
        return arms
    suites, own_suites = take_suites(options)
    return RunRequest(
        tools=tools,
        suites=suites,
        own_suites=own_suites,
        arms=arms,
        jobs=jobs,
        notable=report.notable,
        explain=report.explain,
        **options,
    )


def _print_plans(request: RunRequest, mode: AskedMode, progress: Progress, console: Console) -> Exit:
    """Prints the plan of each mode.

    With both modes, the walltime plan has all cases that icount may leave open.
    """
    requests = requests_of_modes(request).values() if mode == BOTH else (request,)
    plans = [plan_only(each, progress) for each in requests]
    progress.close()
    for planned in plans:
        if isinstance(planned, tuple):
            return print_failures(planned, console)
    click.echo(
        "\n".join(plan_text(planned) for planned in plans if isinstance(planned, PlannedRun)), nl=False
    )
    return Exit.DONE


def _report_interruption(progress: Progress, console: Console, ended: FinishedModes | None) -> Exit:
    progress.close()
    done = f"; the results so far are in {' and '.join(map(str, ended.folders))}" if ended is not None else ""
    console.print(
        f"cliffwatch: interrupted{done}. Run the same command to resume.",
        highlight=False,
        soft_wrap=True,
    )
    return Exit.INTERRUPTED
