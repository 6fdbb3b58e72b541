"""Delivers spooled results to the service, however long it is unreachable.

Puts aside results that it never takes.
"""

import traceback
from collections.abc import Iterable

from cliffwatch.counting import count_noun
from cliffwatch.failure import HttpFailure
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.work import JobEnd, JobOutcome, Leased
from cliffwatch_runner.upload.client import Answered
from cliffwatch_runner.upload.result_directory import NEVER_STORED, Uploaded, upload_run
from cliffwatch_runner.worker.host import Ending, LeasedJob, Worker, printable
from cliffwatch_runner.worker.progress import NEVER_TAKEN
from cliffwatch_runner.worker.spool import Spooled

LONGEST_REASON = 6000


class Undeliverable(Exception):
    """The service refuses a job's results for good."""


def deliver(job: LeasedJob, outcome: Ending, reason: str | None) -> bool:
    """Uploads the spooled results and ends the lease, retrying while the service is unreachable.

    Returns False if `stop` came first. Raises Undeliverable.
    """
    wait = 1.0
    while True:
        undelivered = _try_delivery(job, outcome, reason)
        if undelivered is None:
            return True
        job.say(f" waits in the spool: {undelivered.message}")
        if job.stop.wait(max(wait, undelivered.wait)):
            return False
        wait = min(60.0, wait * 2)


def _try_delivery(job: LeasedJob, outcome: Ending, reason: str | None) -> HttpFailure | None:
    """Returns None once the service has everything, otherwise why not."""
    uploaded = _upload(job.worker, job.spooled, job.name)
    if isinstance(uploaded, HttpFailure):
        return uploaded
    if isinstance(uploaded, Uploaded) and uploaded.refused:
        outcome, reason = "host-failed", f"the service refuses {_refusals_text(uploaded)}"
    elif uploaded is None and outcome == "done":
        outcome, reason = "host-failed", "`cliffwatch run` succeeded but left no results"
    unended = None if outcome == "lost" else _end(job, outcome, reason, uploaded.run if uploaded else None)
    if unended is None:
        _settle(job.worker, job.spooled, uploaded)
    return unended


def _end(job: LeasedJob, outcome: JobOutcome, reason: str | None, run: str | None) -> HttpFailure | None:
    """Ends the lease. Raises Undeliverable."""
    reply = job.worker.client.post(
        f"{job.path}/complete", as_json(JobEnd(outcome=outcome, reason=reason, run=run))
    )
    if isinstance(reply, Answered):
        return None
    if reply.status in NEVER_TAKEN:
        raise Undeliverable(reply.message)
    # The lease ended earlier and another host has the job. The results are stored anyway.
    return None if reply.status in (404, 409) else reply


def _upload(worker: Worker, spooled: Spooled, job: str | None) -> Uploaded | HttpFailure | None:
    """Uploads spooled results; None if there are none. Raises Undeliverable."""
    if not (spooled.results / "run.json").exists():
        return None
    uploaded = upload_run(worker.client, spooled.results, worker.host.name, job=job)
    if job is not None and isinstance(uploaded, HttpFailure) and uploaded.status in (403, 404, 409):
        # The service no longer knows the job, or not as this host's. The results are still worth storing.
        uploaded = upload_run(worker.client, spooled.results, worker.host.name)
    if isinstance(uploaded, HttpFailure) and uploaded.status in NEVER_STORED:
        raise Undeliverable(f"the service refuses the results: {uploaded.message}")
    if isinstance(uploaded, Uploaded) and uploaded.lacks:
        worker.say(f"job {spooled.folder.name}: code.json was sent without {uploaded.lacks}")
    return uploaded


def _settle(worker: Worker, spooled: Spooled, uploaded: Uploaded | None) -> None:
    """Marks results as delivered if the service took all of them. If it refused a part, puts them aside."""
    if uploaded is None or not uploaded.refused:
        try:
            spooled.deliver()
        except OSError as full:
            worker.say(
                f"job {spooled.folder.name}: cannot be marked as delivered and will be sent again: {full}"
            )
    else:
        aside = spooled.put_aside("\n".join(uploaded.refused))
        worker.say(
            f"job {spooled.folder.name}: the service refuses {_refusals_text(uploaded)};"
            f" its results are kept in {aside}"
        )


def _refusals_text(uploaded: Uploaded) -> str:
    return "; ".join(uploaded.refused[:5])


def give_up(worker: Worker, leased: Leased, spooled: Spooled | None, error: Exception) -> None:
    """Ends a job whose results this worker cannot handle.

    Puts them aside, so no measurement is lost and work continues.
    """
    text = _in_a_line(error)
    if spooled is None:
        worker.say(f"this host cannot begin a job: {text}")
    else:
        _put_aside(worker, spooled, error)
    end_failed(worker, leased, f"this host cannot handle what the job left: {text}")


def end_failed(worker: Worker, leased: Leased, reason: str) -> None:
    """Ends a lease as failed by this host."""
    end = JobEnd(outcome="host-failed", reason=reason[:LONGEST_REASON])
    worker.client.post(f"/leases/{leased.lease}/complete", as_json(end))


def _in_a_line(error: Exception) -> str:
    return printable(f"{type(error).__name__}: {error}").replace("\n", " ")[:500]


def _put_aside(worker: Worker, spooled: Spooled, error: Exception) -> None:
    """Prints the error in one line and stores its traceback beside the results."""
    text = _in_a_line(error)
    try:
        aside = spooled.put_aside("".join(traceback.format_exception(error)))
        worker.say(f"job {spooled.folder.name}: {text}; its results are kept in {aside}")
    except OSError as full:
        worker.say(f"job {spooled.folder.name}: {text}; and its results cannot be put aside: {full}")


def redeliver(worker: Worker, waiting: Iterable[Spooled]) -> None:
    """Uploads the results of earlier jobs. Their leases no longer matter."""
    for spooled in waiting:
        try:
            _redeliver(worker, spooled)
        except OSError as error:
            worker.say(f"the results of job {spooled.folder.name} cannot be read now: {error}")
        except Exception as error:  # noqa: BLE001 - one job's results must not block the others
            _put_aside(worker, spooled, error)


def _redeliver(worker: Worker, spooled: Spooled) -> None:
    offer = spooled.job()
    uploaded = _upload(worker, spooled, None if offer is None else offer.job)
    if isinstance(uploaded, Uploaded):
        worker.say(f"sent the results of job {spooled.folder.name}: {count_noun(uploaded.sent, 'boot')}")
        _settle(worker, spooled, uploaded)
    elif uploaded is not None:
        worker.say(f"the results of job {spooled.folder.name} are not delivered: {uploaded.message}")
