"""One job on this host: runs `cliffwatch run`, keeps the lease, and uploads each boot as it is done."""

import threading
from dataclasses import dataclass, field

from cliffwatch.failure import Exit
from cliffwatch_runner import clock, process
from cliffwatch_runner.upload.client import Answered, Refused
from cliffwatch_runner.upload.result_directory import upload_run
from cliffwatch_runner.worker.delivery import deliver
from cliffwatch_runner.worker.host import LeasedJob, printable
from cliffwatch_runner.worker.progress import JobEvents
from cliffwatch_runner.worker.running import collect_results, exchanges, run_job

_LINE = 400
_UPLOAD_EVERY = 3.0


@dataclass(slots=True)
class _EarlyEnd:
    """Why a job is to end before its time; the first reason stays. `limits_checked` once its host was first looked at."""

    outcome: str | None = None
    reason: str | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    limits_checked: threading.Event = field(default_factory=threading.Event)

    def end(self, outcome: str, reason: str) -> None:
        if not self.ended.is_set():
            self.outcome, self.reason = outcome, reason
            self.ended.set()


def do_job(job: LeasedJob) -> bool:
    """Does a job and delivers it; False where it is left for later: the worker was stopped, or the service is away."""
    stop = job.stop
    early, done = _EarlyEnd(), threading.Event()
    events = JobEvents(job.worker.client, job.path)
    keeper = threading.Thread(target=_keep_lease, args=(job, events, early, done), daemon=True)
    keeper.start()
    early.limits_checked.wait()
    try:
        finished = run_job(job, lambda text: _add_lines(events, text), lambda: early.ended.is_set() or stop.is_set())
    finally:
        done.set()
        keeper.join()
    if stop.is_set() and not early.ended.is_set():
        job.worker.say(f"stopped in job {job.name}; the next start goes on with it")
        return False
    collect_results(job)
    outcome, reason = _outcome(finished, early)
    job.say(f": {outcome}" + (f": {reason.splitlines()[0]}" if reason else ""))
    return deliver(job, outcome, reason)


def _keep_lease(job: LeasedJob, events: JobEvents, early: _EarlyEnd, done: threading.Event) -> None:
    """Keeps a job's lease; a host that cannot so much as look at its disk ends it."""
    try:
        _keep_until(done, job, events, early)
    except Exception as error:  # noqa: BLE001 - a thread that died would leave the job without a heartbeat
        early.end("host-failed", f"this host failed: {error!r}")
    finally:
        early.limits_checked.set()


def _keep_until(done: threading.Event, job: LeasedJob, events: JobEvents, early: _EarlyEnd) -> None:
    """While a job runs: renews its lease, reports, uploads what is done, and looks at the limits."""
    host = job.worker.host
    began = last_heartbeat = now = clock.monotonic()
    uploads = True
    while True:
        exceeded = host.limits.exceeded([job.spooled.folder, host.cache, *exchanges(host)], now - began)
        if exceeded is not None:
            early.end("host-failed", exceeded)
        early.limits_checked.set()
        if done.wait(_UPLOAD_EVERY):
            break
        now = clock.monotonic()
        if now - last_heartbeat >= job.offer["heartbeat_seconds"]:
            last_heartbeat = now
            _send_heartbeat(job, early)
        events.send()
        uploads = uploads and _uploaded_so_far(job)
    events.send()


def _uploaded_so_far(job: LeasedJob) -> bool:
    """False where the results cannot be handled: the job goes on all the same, and its end has what is wrong with them."""
    try:
        collect_results(job)
        if (job.spooled.results / "run.json").exists():
            upload_run(job.worker.client, job.spooled.results, job.worker.host.name, job=job.name)
    except Exception:  # noqa: BLE001 - met again, and recorded, when the job is delivered
        return False
    return True


def _send_heartbeat(job: LeasedJob, early: _EarlyEnd) -> None:
    reply = job.worker.client.post(f"{job.path}/heartbeat", {})
    if isinstance(reply, Refused) and reply.status in (404, 409):
        early.end("lost", reply.detail)
    elif isinstance(reply, Answered) and reply.body["cancel"]:
        early.end("cancelled", "cancelled")


def _add_lines(events: JobEvents, text: str) -> None:
    for line in text.splitlines():
        if line.strip():
            events.add("line", {"text": printable(line[:_LINE])})


def _outcome(finished: process.Finished, early: _EarlyEnd) -> tuple[str, str | None]:
    if early.outcome is not None:
        return early.outcome, early.reason
    if finished.status == Exit.DONE:
        return "done", None
    tail = printable("\n".join(finished.output.splitlines()[-40:])[-6000:])
    reason = tail or f"`cliffwatch run` ended with {finished.status}"
    theirs = finished.status in (Exit.KERNEL_FAILED, Exit.USAGE) and not finished.timed_out
    return "kernel-failed" if theirs else "host-failed", reason
