"""`cliffwatch worker`: runs the jobs of a service on this machine."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import rich_click as click

from cliffwatch.command.secret import read_token, shut_memory
from cliffwatch.command.terminal import echo_failure, say
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch.formats.values import FreeJson
from cliffwatch.samples import DEFAULT_ACCEL, Accel, Mode
from cliffwatch_runner.command.options.cache import cache_option
from cliffwatch_runner.command.options.measuring import accel_option, modes_option
from cliffwatch_runner.command.options.values import hours_option
from cliffwatch_runner.doctor.check import Check
from cliffwatch_runner.doctor.examination import for_mode, needed_checks, verdict
from cliffwatch_runner.doctor.facts import gather_facts
from cliffwatch_runner.plan.arguments import target_problem
from cliffwatch_runner.sandbox.isolation import choose_sandbox
from cliffwatch_runner.sandbox.namespaces import bubblewrap_refusal
from cliffwatch_runner.source.access import Trust
from cliffwatch_runner.upload.client import Client
from cliffwatch_runner.worker.builder.asking import Builders
from cliffwatch_runner.worker.fitness import fitness_check
from cliffwatch_runner.worker.host import WorkerHost
from cliffwatch_runner.worker.limits import JobLimits
from cliffwatch_runner.worker.loop import work
from cliffwatch_runner.worker.spool import Spool

_FOR_CHILDREN = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "SSL_CERT_FILE",
    "http_proxy",
    "https_proxy",
)


_STDERR = 2
_DRAINING = b"draining: the job under way is the last one; once more to leave it\n"


@click.command()
@click.option("--url", envvar="CLIFFWATCH_URL", required=True, help="URL of the service.")
@click.option("--platform", required=True, help="Name of this kind of machine, such as amd-rome.")
@click.option(
    "--name", default=socket.gethostname, help="Name of this host; default: the machine's hostname."
)
@modes_option("Mode of its jobs; may be repeated.")
@accel_option
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the token, readable only by you.",
)
@cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch.")
@click.option(
    "--spool",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that keeps results until the service has them; default: next to the cache.",
)
@hours_option
@click.option(
    "--build-image",
    "build_images",
    multiple=True,
    metavar="IMAGE",
    help="Container image with the tools to build with; may be repeated. The first is the default; a request "
    "may name another.",
)
@click.option(
    "--builder",
    "builder_folders",
    multiple=True,
    metavar="[followed=]DIR",
    help="Folder shared with a `cliffwatch builder`, which builds and boots in place of this process: one "
    "for all trees, and optionally one for followed branches.",
)
@click.option("--jobs", type=click.IntRange(1), help="Jobs after which the worker exits.")
def worker(
    url: str,
    platform: str,
    name: str,
    modes: tuple[Mode, ...],
    accel: Accel,
    token_file: Path | None,
    cache: Path,
    spool: Path | None,
    *,
    hours: float,
    build_images: tuple[str, ...],
    builder_folders: tuple[str, ...],
    jobs: int | None,
) -> NoReturn:
    """Take jobs from a service, measure, and send back the results.

    After SIGTERM, the current job finishes and no other is taken. A second SIGTERM interrupts the job; the
    next start resumes it.
    """
    wrong = next(target_problem(platform, modes, accel), None)
    if wrong is not None:
        raise SystemExit(echo_failure(wrong))
    shut_memory()
    token = read_token(token_file, seen_by_builds=(cache,))
    if isinstance(token, Failure):
        raise SystemExit(echo_failure(token))
    builders = _builders(builder_folders, cache)
    if builders and build_images:
        wrong = wrong_usage(
            ("--build-image and --builder exclude each other: a builder uses the tools of its own image"),
            "leave one of them out",
        )
        raise SystemExit(echo_failure(wrong))
    unusable = (
        builders if isinstance(builders, Failure) else None if builders else _check_isolation(build_images)
    )
    if unusable is not None:
        raise SystemExit(echo_failure(unusable))
    spool = spool or cache.parent / "cliffwatch-spool"
    home = spool / "home"
    for folder in (cache, home):
        folder.mkdir(parents=True, exist_ok=True)
    at_start = needed_checks(gather_facts(cache), accel)
    host = WorkerHost(
        name=name,
        platform=platform,
        modes=tuple(sorted(set(modes))),
        cache=cache,
        command=(sys.executable, "-m", "cliffwatch.command"),
        env=clean_environment(home),
        build_images=build_images,
        cpus=os.cpu_count(),
        builders=None if isinstance(builders, Failure) else builders,
        limits=JobLimits(seconds=hours * 3600),
        about={"doctor": doctor_findings(at_start, "walltime" if "walltime" in modes else "icount", accel)},
        unfit=fitness_check(cache, at_start, accel),
    )
    drain, stop = _signals()
    client = Client(url, token)
    try:
        say(f"{name} ({platform}, {' and '.join(host.modes)}) is working for {url}")
        ended = work(client, host, Spool(spool / "jobs"), drain=drain, stop=stop, say=say, jobs=jobs)
    finally:
        client.close()
    raise SystemExit(Exit.DONE if ended is None else echo_failure(ended))


def _builders(folders: tuple[str, ...], trees: Path) -> Builders | Failure | None:
    exchanges: dict[Trust, Path] = {}
    for word in folders:
        whose, _, folder = word.rpartition("=")
        if whose not in ("", "outside", "followed") or not Path(folder).is_dir():
            return wrong_usage(f"--builder {word}: no such folder", "give DIR, or followed=DIR")
        exchanges["followed" if whose == "followed" else "outside"] = Path(folder)
    if exchanges and "outside" not in exchanges:
        return wrong_usage(
            "--builder names no builder for trees outside the followed branches", "add --builder DIR"
        )
    return Builders(exchanges=exchanges, trees=trees) if exchanges else None


def _check_isolation(build_images: tuple[str, ...]) -> Failure | None:
    """Returns a failure if this host cannot isolate jobs. Guests run in bubblewrap, even if builds do not."""
    refusal = bubblewrap_refusal()
    if refusal is not None:
        return refusal.failure()
    sandboxes = [choose_sandbox("auto", image) for image in build_images]
    return next((each for each in sandboxes if isinstance(each, Failure)), None)


def doctor_findings(results: Sequence[Check], mode: Mode, accel: Accel = DEFAULT_ACCEL) -> FreeJson:
    """Returns the doctor's verdict and the checks that warn or fail, for the service's hosts page."""
    bad = [check for check in for_mode(results, mode) if check.status in ("warn", "fail")]
    return {
        "verdict": verdict(results, mode, accel),
        "checks": [
            {
                "name": check.name,
                "status": check.status,
                "finding": check.finding[:500],
                "fixes": list(check.fixes),
            }
            for check in bad
        ],
    }


def clean_environment(home: Path) -> dict[str, str]:
    """Returns the environment of jobs.

    Their home is empty, so that a requested tree is never fetched with this host's keys and credentials.
    """
    kept = {name: os.environ[name] for name in _FOR_CHILDREN if name in os.environ}
    own = str(Path(sys.executable).parent)
    return {**kept, "HOME": str(home), "PATH": os.pathsep.join([own, kept.get("PATH", os.defpath)])}


def _signals() -> tuple[threading.Event, threading.Event]:
    """Returns the events `drain`, set by the first signal, and `stop`, set by the second."""
    drain, stop = threading.Event(), threading.Event()

    def on_signal(_: int, __: FrameType | None) -> None:
        if drain.is_set():
            stop.set()
            return
        drain.set()
        # Not `say`: a signal may interrupt it while it writes, and streams are not reentrant.
        os.write(_STDERR, _DRAINING)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    return drain, stop
