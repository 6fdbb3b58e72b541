"""Does one job: runs `cliffwatch run`, keeps the lease, and uploads each boot once it is done."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from cliffwatch.failure import Exit, HttpFailure
from cliffwatch.formats.reading import convert_to
from cliffwatch.formats.work import Heartbeat
from cliffwatch_runner import clock, process
from cliffwatch_runner.upload.client import Answered
from cliffwatch_runner.upload.result_directory import Uploaded, upload_run
from cliffwatch_runner.worker.delivery import deliver
from cliffwatch_runner.worker.host import Ending, LeasedJob, printable
from cliffwatch_runner.worker.progress import JobProgress
from cliffwatch_runner.worker.running import collect_results, exchanges, run_job

_LINE = 400
_ENDINGS: Mapping[int, Ending] = {Exit.KERNEL_FAILED: "kernel-failed", Exit.USAGE: "not-possible"}
"""Ends of a run that failed through no fault of this host, by exit status."""

_UPLOAD_EVERY = 3.0


@dataclass(slots=True)
class _EarlyEnd:
    """Why a job must end early. The first reason wins."""

    outcome: Ending | None = None
    reason: str | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    limits_checked: threading.Event = field(default_factory=threading.Event)
    """Set once the host's limits were checked for the first time."""

    def end(self, outcome: Ending, reason: str) -> None:
        if not self.ended.is_set():
            self.outcome, self.reason = outcome, reason
            self.ended.set()


def do_job(job: LeasedJob) -> bool:
    """Does a job and delivers it.

    False if it is left for later: the worker stopped or the service is unreachable.
    """
    stop = job.stop
    early, done = _EarlyEnd(), threading.Event()
    events = JobProgress(job.worker.client, job.path)
    keeper = threading.Thread(target=_keep_lease, args=(job, events, early, done), daemon=True)
    keeper.start()
    early.limits_checked.wait()
    try:
        finished = run_job(
            job, lambda text: _add_lines(events, text), lambda: early.ended.is_set() or stop.is_set()
        )
    finally:
        done.set()
        keeper.join()
    if stop.is_set() and not early.ended.is_set():
        job.worker.say(f"stopped in job {job.name}; the next start resumes it")
        return False
    collect_results(job)
    outcome, reason = _outcome(finished, early)
    job.say(f": {outcome}" + (f": {reason.splitlines()[0]}" if reason else ""))
    with _heartbeats(job):
        return deliver(job, outcome, reason)


@contextmanager
def _heartbeats(job: LeasedJob) -> Iterator[None]:
    """Keeps the lease of a finished job during delivery.

    Otherwise a slow service gives the job to another host.
    """
    done = threading.Event()

    def keep() -> None:
        while not done.wait(job.offer.heartbeat_seconds):
            job.worker.client.post(f"{job.path}/heartbeat", {})

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _keep_lease(job: LeasedJob, events: JobProgress, early: _EarlyEnd, done: threading.Event) -> None:
    """Keeps a job's lease. Any error, such as an unreadable disk, ends the job."""
    try:
        _keep_until(done, job, events, early)
    except Exception as error:  # noqa: BLE001 - if the thread died, the job would have no heartbeat
        early.end("host-failed", f"this host failed: {error!r}")
    finally:
        early.limits_checked.set()


def _keep_until(done: threading.Event, job: LeasedJob, events: JobProgress, early: _EarlyEnd) -> None:
    """While a job runs: renews the lease, reports progress, uploads finished boots and checks the limits."""
    host = job.worker.host
    began = last_heartbeat = now = clock.monotonic()
    uploads = _Uploads(job)
    while True:
        exceeded = host.limits.exceeded([job.spooled.folder, host.cache, *exchanges(host)], now - began)
        if exceeded is not None:
            early.end("host-failed", str(exceeded))
        early.limits_checked.set()
        if done.wait(_UPLOAD_EVERY):
            break
        now = clock.monotonic()
        if now - last_heartbeat >= job.offer.heartbeat_seconds:
            last_heartbeat = now
            _send_heartbeat(job, early)
        events.send()
        uploads.send_news()
    events.send()


class _Uploads:
    """Uploads new results of a running job. Sends nothing if nothing is new."""

    def __init__(self, job: LeasedJob) -> None:
        self._job = job
        self._sent: frozenset[tuple[str, int]] = frozenset()
        self._possible = True
        self._not_before = 0.0

    def send_news(self) -> None:
        """Uploads new results.

        Ignores results that cannot be handled: delivery at the job's end reports the problem.
        """
        if not self._possible or clock.monotonic() < self._not_before:
            return
        try:
            collect_results(self._job)
            results = self._job.spooled.results
            there = frozenset(
                (str(path), path.lstat().st_mtime_ns)
                for pattern in ("run.json", "boots/*/boot.json")
                for path in results.glob(pattern)
            )
            if there - self._sent:
                worker = self._job.worker
                uploaded = upload_run(worker.client, results, worker.host.name, job=self._job.name)
                if isinstance(uploaded, Uploaded):
                    self._sent = there
                elif uploaded.is_temporary:
                    self._not_before = clock.monotonic() + uploaded.wait
        except Exception:  # noqa: BLE001 - delivery meets the same error and records it
            self._possible = False


def _send_heartbeat(job: LeasedJob, early: _EarlyEnd) -> None:
    reply = job.worker.client.post(f"{job.path}/heartbeat", {})
    if isinstance(reply, HttpFailure) and reply.status in (404, 409):
        early.end("lost", reply.message)
    elif isinstance(reply, Answered):
        heartbeat = convert_to(reply.body, Heartbeat)
        if isinstance(heartbeat, Heartbeat) and heartbeat.cancel:
            early.end("cancelled", "cancelled")


def _add_lines(events: JobProgress, text: str) -> None:
    for line in text.splitlines():
        if line.strip():
            events.add_line(printable(line[:_LINE]))


def _outcome(finished: process.Finished, early: _EarlyEnd) -> tuple[Ending, str | None]:
    if early.outcome is not None:
        return early.outcome, early.reason
    if finished.status == Exit.DONE:
        return "done", None
    said = printable("\n".join(_last_words(finished.output.splitlines()))[-6000:])
    reason = said or f"`cliffwatch run` ended with {finished.status}"
    if finished.timed_out:
        return "host-failed", reason
    return _ENDINGS.get(finished.status, "host-failed"), reason


def _last_words(lines: Sequence[str]) -> Sequence[str]:
    """Returns the failures that a run printed at its end, without progress lines.

    If it printed none, returns its last lines.
    """
    first = len(lines)
    while first and lines[first - 1].startswith(("cliffwatch: ", "  ")):
        first -= 1
    return lines[first:] if any(line.startswith("cliffwatch: ") for line in lines[first:]) else lines[-40:]
