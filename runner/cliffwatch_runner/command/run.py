"""`cliffwatch run`: from a kernel tree to a report, on this machine."""

import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import rich_click as click
from rich.console import Console
from rich.markup import escape

from cliffwatch.command import terminal
from cliffwatch.command.compare import report_of_run
from cliffwatch.command.report_options import ReportOptions, report_options
from cliffwatch.exits import Exit
from cliffwatch.stats.stages import ADAPTIVE, CAREFUL, Stages
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.build.cache.pruning import KEEP_BUILT_BYTES
from cliffwatch_runner.build.toolchain import ToolChoice
from cliffwatch_runner.command.cache_folder import Size, cache_option
from cliffwatch_runner.failure import Failure
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.text import plan_text
from cliffwatch_runner.plan.writable_folders import not_ours
from cliffwatch_runner.run.progress import Progress, TimedPhases, progress_display
from cliffwatch_runner.run.run import Finished, plan_only
from cliffwatch_runner.run.run import run as carry_out
from cliffwatch_runner.source.access import ACCESSES
from cliffwatch_runner.upload.client import Client, Refused
from cliffwatch_runner.upload.result_directory import Uploaded, upload_run
from cliffwatch_runner.worker.secret import read_token


def _numbers(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter("give CPU numbers with commas between them, such as 2,3") from None


_STAGES = {"auto": None, "staged": ADAPTIVE, "careful": CAREFUL}


def _boots(_: click.Context, __: click.Parameter, value: str) -> int | Stages | None:
    if value in _STAGES:
        return _STAGES[value]
    if not value.isdigit() or not 1 <= int(value) <= 1000:
        raise click.BadParameter(f"give a number from 1 to 1000, or one of {', '.join(_STAGES)}")
    return int(value)


@click.command()
@click.option("--tree", required=True, help="A git repository, a URL, an unpacked source folder or a source archive.")
@click.option(
    "--tree-access",
    type=click.Choice(ACCESSES),
    default="own",
    show_default=True,
    help=(
        "By whose word the tree is fetched. own: yours, with your keys and credentials; allowed: by somebody else's, without them, from"
        " where an administrator allows; public: so too, from public addresses alone."
    ),
)
@click.option("--base", required=True, help="The revision to compare with: a branch, a tag or a hash.")
@click.option("--head", required=True, help="The revision with the change.")
@click.option(
    "--patch", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Put this patch on top of head."
)
@click.option(
    "--suite",
    "suites",
    default="local-storage",
    show_default=True,
    help="Suites with commas between them; `discovered` for what only this tree has.",
)
@click.option("--profile", type=click.Choice(["smoke", "standard", "full"]), default="smoke", show_default=True)
@click.option(
    "--mode", type=click.Choice(["icount", "walltime"]), help="Default: walltime where KVM runs a guest, else icount."
)
@click.option("--platform", help="What to call this kind of machine; default: what the processor says.")
@click.option(
    "--boots",
    default="auto",
    show_default=True,
    callback=_boots,
    help=(
        "Boots of each kernel. staged: 10 of everything, then up to 42 of what they leave open; careful: 21, then 30; "
        "auto: staged in walltime, 1 or 2 in icount."
    ),
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the order of boots and cases.")
@click.option(
    "--bench-from",
    default="head",
    show_default=True,
    metavar="base|head|REV",
    help="The revision whose bench measures both kernels.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="The result directory; default: a new one under cliffwatch-results.",
)
@cache_option("Where kernels and build output are kept; default: ~/.cache/cliffwatch.")
@click.option(
    "--cache-size",
    type=Size(),
    default=KEEP_BUILT_BYTES,
    show_default="5G",
    help="At its end the run removes kernels and benches beyond this size, least recently used first.",
)
@click.option(
    "--config",
    "fragments",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A fragment of kernel configuration, after ours; may be repeated.",
)
@click.option("--cc", help="The compiler of the kernel: gcc or clang, with its version if you like.")
@click.option("--clang", help="The clang of bench's BPF programs, such as clang-20.")
@click.option("--pahole", help="The pahole that makes BTF.")
@click.option("--build-image", help="Build in this container image, with its tools.")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Compilers at once; default: one a CPU.")
@click.option("--cpus", type=click.IntRange(1, 256), help="CPUs of the guest; default: 1 in icount, 4 in walltime.")
@click.option(
    "--memory", "memory_mib", type=click.IntRange(512), help="Memory of the guest in MiB; default: what the cases need."
)
@click.option("--pin", callback=_numbers, help="Host CPUs of the guest's CPUs (walltime), such as 2,3,4,5.")
@click.option(
    "--guest-root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A root file system for the guest instead of the host's programs.",
)
@click.option(
    "--hang-after",
    type=click.FloatRange(10),
    default=60.0,
    show_default=True,
    help="Seconds of the guest's clock without a sign of life, beyond those that its case may take, after which it hangs.",
)
@click.option(
    "--trust",
    type=click.Choice(["local", "followed", "outside"]),
    default="local",
    show_default=True,
    help=(
        "Whose tree it is. local: yours; followed: of a branch that a service follows; both keep build output and ccache for the "
        "next build, apart from each other. outside: anybody's; its builds begin with nothing and leave nothing."
    ),
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    help="What a build may use of this host: memory=32G, processes=8192, disk=100G, hours=6; may be repeated.",
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "bubblewrap", "container", "none"]),
    default="auto",
    show_default=True,
    help="The wall between the tree's code and this host; none only where you say so, and the results say it too.",
)
@click.option(
    "--upload", metavar="URL", help="Send the results to this service; the token is that of CLIFFWATCH_TOKEN."
)
@click.option("--dry-run", is_flag=True, help="Print the plan and do nothing.")
@report_options
def run(**options: Any) -> NoReturn:
    """Build two revisions of a kernel, boot them, run BPF benchmarks, and say what changed.

    ^C at any moment: the same command goes on with the boots that are done.
    """
    report = options.pop("report")
    dry_run, upload = options.pop("dry_run"), options.pop("upload")
    if upload is not None and not upload.startswith(("http://", "https://")):
        failure = Failure(
            whose="usage",
            message=f"--upload: {upload!r} is no address of a service",
            next_step="give one such as https://bench.example.org",
        )
        raise SystemExit(_tell_failures([failure], terminal.console(stderr=True)))
    token = read_token(None) if upload else None
    if isinstance(token, Failure):
        raise SystemExit(_tell_failures([token], terminal.console(stderr=True)))
    request = _request(options, report)
    console = terminal.console(stderr=True)
    progress = TimedPhases(progress_display(console))
    with stopping() as stop:
        try:
            if dry_run:
                raise SystemExit(_print_plan(request, progress, console))
            ended = carry_out(request, progress, stop)
        except Stopped:
            raise SystemExit(_interrupted(progress, console, None)) from None
        except OSError as error:
            progress.close()
            ended = (_host_failure(error, request),)
        finally:
            progress.close()
    if isinstance(ended, tuple):
        raise SystemExit(_tell_failures(ended, console))
    if ended.interrupted:
        raise SystemExit(_interrupted(progress, console, ended))
    code = report_of_run(ended.folder, report)
    console.print(f"took {progress.summary()}", highlight=False, soft_wrap=True)
    sent = Exit.DONE if upload is None else _send(ended.folder, upload, token, console)
    raise SystemExit(sent or code)


def _send(folder: Path, url: str, token: str | None, console: Console) -> Exit:
    """Uploads a finished run; what is there already is not sent again, so the same command tries again."""
    client = Client(url, token)
    try:
        uploaded = upload_run(client, folder, socket.gethostname())
    finally:
        client.close()
    if isinstance(uploaded, Uploaded) and not uploaded.refused:
        console.print(f"uploaded: {url.rstrip('/')}/api/v1/runs/{uploaded.run}", highlight=False, soft_wrap=True)
        return Exit.DONE
    if isinstance(uploaded, Uploaded):
        why = "; ".join(uploaded.refused)
    else:
        why = uploaded.detail if isinstance(uploaded, Refused) else uploaded.reason
    failure = Failure(
        whose="usage" if isinstance(uploaded, Refused) else "host",
        message=f"the results are not uploaded: {why}",
        next_step=f"they lie in {folder}; give the same command again",
    )
    return _tell_failures([failure], console)


def _request(options: dict[str, Any], report: ReportOptions) -> RunRequest:
    tools = ToolChoice(**{name: options.pop(name) for name in ("cc", "clang", "pahole", "build_image")})
    suites = tuple(dict.fromkeys(name.strip() for name in options.pop("suites").split(",") if name.strip()))
    jobs = options.pop("jobs") or os.cpu_count() or 1
    return RunRequest(tools=tools, suites=suites, jobs=jobs, notable=report.notable, explain=report.explain, **options)


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that the first ^C or SIGTERM sets, so that children end and locks are let go; the second one ends at once."""
    stop = threading.Event()

    def asked(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_plan(request: RunRequest, progress: Progress, console: Console) -> Exit:
    planned = plan_only(request, progress)
    progress.close()
    if isinstance(planned[0], Failure):
        return _tell_failures([each for each in planned if isinstance(each, Failure)], console)
    chosen, plan, selection = planned
    click.echo(plan_text(chosen, plan, selection), nl=False)
    return Exit.DONE


def _tell_failures(failures: Sequence[Failure], console: Console) -> Exit:
    for failure in failures:
        console.print(f"[bold red]cliffwatch: {escape(failure.message)}[/]", highlight=False, soft_wrap=True)
        for line in failure.evidence.splitlines()[:40]:
            console.print(f"    {escape(line)}", highlight=False, soft_wrap=True)
        console.print(f"  {escape(failure.next_step)}", highlight=False, soft_wrap=True)
    return max((failure.exit for failure in failures), key=lambda code: (code == Exit.HOST_FAILED, code))


def _interrupted(progress: Progress, console: Console, ended: Finished | None) -> Exit:
    progress.close()
    where = f"; what is done lies in {ended.folder}" if ended is not None else ""
    console.print(
        f"cliffwatch: interrupted{where}. The same command goes on from there.", highlight=False, soft_wrap=True
    )
    return Exit.INTERRUPTED


def _host_failure(error: OSError, request: RunRequest) -> Failure:
    where = Path(str(error.filename or ""))
    if isinstance(error, PermissionError) and where.is_relative_to(request.cache):
        return not_ours(where, request.cache)
    if isinstance(error, FileNotFoundError) and where.name == error.filename:
        return Failure(
            whose="host", message=f"{where} is missing", next_step="install it: `cliffwatch doctor` says how"
        )
    full = error.errno in (28, 122)  # ENOSPC, EDQUOT
    return Failure(
        whose="host",
        message="the disk is full" if full else f"this host failed: {error}",
        next_step=f"make room for {request.cache} and the results, then give the same command again: what is done is kept"
        if full
        else "see `cliffwatch doctor`; what is done is kept",
    )
