"""Runs a job: on this host itself, or in a builder beside it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from cliffwatch.failure import Failure, HttpFailure
from cliffwatch.formats.work import Work
from cliffwatch_runner import process
from cliffwatch_runner.source.access import TreeAccess, Trust
from cliffwatch_runner.worker.asked import run_arguments, take_files
from cliffwatch_runner.worker.builder.asking import (
    Builders,
    builder_job,
    finished_with_failure,
    run_in_builder,
)
from cliffwatch_runner.worker.builder.collecting import collect
from cliffwatch_runner.worker.builder.messages import accel_words
from cliffwatch_runner.worker.host import LeasedJob, WorkerHost

_LARGEST_LOG = 64 << 20
_SLACK_SECONDS = 60.0


def run_argv(host: WorkerHost, offer: Work, results: Path, measured: Sequence[str]) -> list[str]:
    """Returns the `cliffwatch run` command of a job. `measured` are the arguments that say what to measure.

    Trees that the service does not mark as followed are untrusted.
    """
    return [
        *host.command,
        "run",
        *("--tree", offer.tree, "--tree-access", _access(offer)),
        *measured,
        *("--profile", offer.profile, "--mode", offer.mode, *accel_words(offer.platform)),
        *("--platform", offer.platform, "--boots", offer.boots, "--seed", str(offer.seed)),
        *("--out", str(results), "--cache", str(host.cache)),
        *("--trust", _trust(offer)),
        *("--isolation", "auto"),
        *("--format", "text"),
    ]


def _access(offer: Work) -> TreeAccess:
    """Returns which trees the job may fetch.

    Only public ones, unless the service marks the tree as allowed.
    """
    return "allowed" if offer.tree_access == "allowed" else "public"


def _trust(offer: Work) -> Trust:
    return "followed" if offer.trust == "followed" else "outside"


def run_job(
    job: LeasedJob, on_output: Callable[[str], None], should_stop: Callable[[], bool]
) -> process.Finished:
    """Runs a job and returns how it ended. The spooled log has its complete output."""
    host, log = job.worker.host, process.Log(job.spooled.log, _LARGEST_LOG)
    deadline = host.limits.seconds + _SLACK_SECONDS
    # Builders can read files beside the trees that are fetched for them.
    folder = job.spooled.folder / "asked" if host.builders is None else host.builders.trees / "asked"
    failed = _take_files(job, folder, should_stop)
    measured = failed or run_arguments(job.offer, folder, host.build_images)
    if isinstance(measured, Failure):
        return finished_with_failure(measured)
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
    """Downloads the files of the job's request, retrying while the service is unreachable. Raises OSError."""
    wait = 1.0
    while isinstance(taken := take_files(job.worker.client, job.offer, folder), HttpFailure):
        job.say(f" waits for the files of its request: {taken.message}")
        if job.stop.wait(max(wait, taken.wait)) or should_stop():
            return taken
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
    # Not in the builder's folder: a tree's code could name a later job there and plant files for it.
    asked = job.spooled.folder.parent.with_name(f"asked-{builders.exchange(trust).name}")
    resume = asked.is_file() and asked.read_text() == job.name
    prepared = builder_job(job.offer, _access(job.offer), builders.trees, measured, resume=resume)
    if isinstance(prepared, Failure):
        return finished_with_failure(prepared)
    asked.write_text(job.name)
    with job.spooled.log.open("a", errors="replace") as log:

        def both(text: str) -> None:
            log.write(text)
            log.flush()
            on_output(text)

        exchange = builders.exchange(trust)
        return run_in_builder(prepared, exchange, deadline=deadline, on_output=both, should_stop=should_stop)


def collect_results(job: LeasedJob) -> None:
    """Copies a builder's results into the spool. Without a builder they are already there."""
    builders = job.worker.host.builders
    if builders is not None:
        collect(builders.exchange(_trust(job.offer)) / job.name, job.spooled.results, job.offer.tree)


def exchanges(host: WorkerHost) -> tuple[Path, ...]:
    """Returns the folders shared with builders."""
    return () if host.builders is None else tuple(host.builders.exchanges.values())
