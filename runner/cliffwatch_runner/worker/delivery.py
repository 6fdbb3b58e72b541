"""Brings what jobs left in the spool to the service, however long it is away, and puts aside what it will never take."""

import traceback
from collections.abc import Iterable

from cliffwatch.counting import counted
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.work import JobEnd, Leased
from cliffwatch_runner.upload.client import Answered, Refused, Unreached
from cliffwatch_runner.upload.result_directory import DAMAGED, Uploaded, upload_run
from cliffwatch_runner.worker.host import Ending, LeasedJob, Worker, printable
from cliffwatch_runner.worker.progress import NEVER_TAKEN
from cliffwatch_runner.worker.spool import Spooled

LONGEST_REASON = 6000


class Undeliverable(Exception):
    """The service will never take what a job left."""


def deliver(job: LeasedJob, outcome: Ending, reason: str | None) -> bool:
    """Uploads what lies in the spool and ends the lease, however long the service is away; False where `stop` came first."""
    wait = 1.0
    while True:
        undelivered = _undelivered(job, outcome, reason)
        if undelivered is None:
            job.spooled.deliver()
            return True
        job.say(f" waits in the spool: {undelivered}")
        if job.stop.wait(wait):
            return False
        wait = min(60.0, wait * 2)


def _undelivered(job: LeasedJob, outcome: Ending, reason: str | None) -> str | None:
    """None once the service has it all; else why it has not."""
    client, run = job.worker.client, None
    if (job.spooled.results / "run.json").exists():
        uploaded = upload_run(client, job.spooled.results, job.worker.host.name, job=job.name)
        if isinstance(uploaded, Unreached):
            return uploaded.reason
        if isinstance(uploaded, Refused):
            outcome, reason = "host-failed", f"the service refuses the results: {uploaded.detail}"
        else:
            run = uploaded.run
            if uploaded.refused:
                outcome, reason = "host-failed", "the service refuses " + "; ".join(uploaded.refused[:5])
    elif outcome == "done":
        outcome, reason = "host-failed", "`cliffwatch run` was done and left no results"
    if outcome == "lost":
        return None
    reply = client.post(f"{job.path}/complete", as_json(JobEnd(outcome=outcome, reason=reason, run=run)))
    if isinstance(reply, Unreached):
        return reply.reason
    if isinstance(reply, Refused) and reply.status in NEVER_TAKEN:
        raise Undeliverable(reply.detail)
    # A lease that ended without us: the job is another's now, the results are here all the same.
    return None if isinstance(reply, Answered) or reply.status in (404, 409) else reply.detail


def give_up(worker: Worker, leased: Leased, spooled: Spooled | None, error: Exception) -> None:
    """Ends a job whose results this worker cannot handle, and puts them aside: nothing measured is lost, and the next job is done."""
    text = _in_a_line(error)
    if spooled is None:
        worker.say(f"a job that this host cannot begin: {text}")
    else:
        _put_aside(worker, spooled, error)
    end_failed(worker, leased, f"this host cannot handle what the job left: {text}")


def end_failed(worker: Worker, leased: Leased, reason: str) -> None:
    """Ends a lease whose job this host failed at."""
    end = JobEnd(outcome="host-failed", reason=reason[:LONGEST_REASON])
    worker.client.post(f"/leases/{leased.lease}/complete", as_json(end))


def _in_a_line(error: Exception) -> str:
    return printable(f"{type(error).__name__}: {error}").replace("\n", " ")[:500]


def _put_aside(worker: Worker, spooled: Spooled, error: Exception) -> None:
    """What went wrong is printed in a line; all of it lies beside the results."""
    text = _in_a_line(error)
    try:
        aside = spooled.put_aside("".join(traceback.format_exception(error)))
        worker.say(f"job {spooled.folder.name}: {text}; its results are kept in {aside}")
    except OSError as full:
        worker.say(f"job {spooled.folder.name}: {text}; and its results cannot be put aside: {full}")


def redeliver(worker: Worker, waiting: Iterable[Spooled]) -> None:
    """Sends what earlier jobs left in the spool; their leases are past caring for."""
    for spooled in waiting:
        try:
            _redeliver(worker, spooled)
        except OSError as error:
            worker.say(f"what job {spooled.folder.name} left cannot be read now: {error}")
        except Exception as error:  # noqa: BLE001 - whatever one job left, the others are sent and new ones taken
            _put_aside(worker, spooled, error)


def _redeliver(worker: Worker, spooled: Spooled) -> None:
    client, name = worker.client, worker.host.name
    offer = spooled.job()
    uploaded = upload_run(client, spooled.results, name, job=None if offer is None else offer.job)
    if isinstance(uploaded, Refused) and uploaded.status in (403, 404, 409):
        # The service knows nothing of the job any more, or not that this host took it: a result all the same.
        uploaded = upload_run(client, spooled.results, name)
    if isinstance(uploaded, Uploaded):
        worker.say(f"sent what job {spooled.folder.name} left: {counted(uploaded.sent, 'boot')}")
        spooled.deliver()
    elif isinstance(uploaded, Refused) and uploaded.status in (DAMAGED, *NEVER_TAKEN):
        raise Undeliverable(uploaded.detail)
    else:
        why = uploaded.detail if isinstance(uploaded, Refused) else uploaded.reason
        worker.say(f"the service has not what job {spooled.folder.name} left: {why}")
