"""The run of a job: by this host itself, or by a builder beside it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch.formats.work import Work
from cliffwatch_runner import process
from cliffwatch_runner.source.access import TreeAccess, Trust
from cliffwatch_runner.upload.client import Unreached
from cliffwatch_runner.worker.asked import measured_words, take_files
from cliffwatch_runner.worker.builder.asking import Builders, builder_job, failed_before, run_in_builder
from cliffwatch_runner.worker.builder.collecting import collect
from cliffwatch_runner.worker.host import LeasedJob, WorkerHost

_LARGEST_LOG = 64 << 20
_SLACK_SECONDS = 60.0


def run_argv(host: WorkerHost, offer: Work, results: Path, measured: Sequence[str]) -> list[str]:
    """The `cliffwatch run` of a job, of which `measured` says what. What the service does not mark as of a followed branch is anybody's."""
    return [
        *host.command,
        "run",
        *("--tree", offer.tree, "--tree-access", _access(offer)),
        *measured,
        *("--profile", offer.profile, "--mode", offer.mode),
        *("--platform", offer.platform, "--boots", offer.boots, "--seed", str(offer.seed)),
        *("--out", str(results), "--cache", str(host.cache)),
        *("--trust", _trust(offer)),
        *("--isolation", "auto"),
        *("--format", "text"),
    ]


def _access(offer: Work) -> TreeAccess:
    """Where the tree may be: a service that does not mark it vouches for nothing."""
    return "allowed" if offer.tree_access == "allowed" else "public"


def _trust(offer: Work) -> Trust:
    return "followed" if offer.trust == "followed" else "outside"


def run_job(
    job: LeasedJob, on_output: Callable[[str], None], should_stop: Callable[[], bool]
) -> process.Finished:
    """How the run of a job ended. Its log has all that it printed."""
    host, log = job.worker.host, process.Log(job.spooled.log, _LARGEST_LOG)
    deadline = host.limits.seconds + _SLACK_SECONDS
    # Builders read what is beside the trees that are fetched for them.
    folder = job.spooled.folder / "asked" if host.builders is None else host.builders.trees / "asked"
    failed = _take_files(job, folder, should_stop)
    measured = failed or measured_words(job.offer, folder, host.build_images)
    if isinstance(measured, Failure):
        return failed_before(measured)
    if host.builders is not None:
        return _run_in_builder(job, host.builders, measured, deadline, on_output, should_stop)
    return process.run(
        host.limits.argv(run_argv(host, job.offer, job.spooled.results, measured)),
        deadline=deadline,
        env=host.env,
        log=log,
        on_output=on_output,
        should_stop=should_stop,
    )


def _take_files(job: LeasedJob, folder: Path, should_stop: Callable[[], bool]) -> Failure | None:
    """Waits for the files of the job's request, however long the service is away. Raises OSError."""
    wait = 1.0
    while isinstance(taken := take_files(job.worker.client, job.offer, folder), Unreached):
        job.say(f" waits for the files of its request: {taken.reason}")
        if job.stop.wait(max(wait, taken.wait)) or should_stop():
            return Failure(whose="host", message=taken.reason, next_step="ask again when the service answers")
        wait = min(60.0, wait * 2)
    return taken


def _run_in_builder(
    job: LeasedJob,
    builders: Builders,
    measured: Sequence[str],
    deadline: float,
    on_output: Callable[[str], None],
    should_stop: Callable[[], bool],
) -> process.Finished:
    trust = _trust(job.offer)
    # Kept here, not in the builder's folder: a tree could name the job there that shall find what it planted.
    asked = job.spooled.folder.parent.with_name(f"asked-{builders.exchange(trust).name}")
    resume = asked.is_file() and asked.read_text() == job.name
    prepared = builder_job(job.offer, _access(job.offer), builders.trees, measured, resume=resume)
    if isinstance(prepared, Failure):
        return failed_before(prepared)
    asked.write_text(job.name)
    with job.spooled.log.open("a", errors="replace") as log:

        def both(text: str) -> None:
            log.write(text)
            log.flush()
            on_output(text)

        exchange = builders.exchange(trust)
        return run_in_builder(prepared, exchange, deadline=deadline, on_output=both, should_stop=should_stop)


def collect_results(job: LeasedJob) -> None:
    """Takes what a builder has measured by now into the spool; what this host measures itself lies there already."""
    builders = job.worker.host.builders
    if builders is not None:
        collect(builders.exchange(_trust(job.offer)) / job.name, job.spooled.results, job.offer.tree)


def exchanges(host: WorkerHost) -> tuple[Path, ...]:
    """The folders that are shared with builders."""
    return () if host.builders is None else tuple(host.builders.exchanges.values())
