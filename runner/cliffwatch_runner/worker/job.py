"""One job on this host: runs `cliffwatch run`, keeps the lease, and uploads each boot as it is done."""

import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cliffwatch.counting import counted
from cliffwatch.exits import Exit
from cliffwatch_runner import clock, process
from cliffwatch_runner.upload.client import Answered, Client, Refused, Unreached
from cliffwatch_runner.upload.result_directory import DAMAGED, Uploaded, upload_run
from cliffwatch_runner.worker.limits import JobLimits
from cliffwatch_runner.worker.progress import NEVER_TAKEN, JobEvents
from cliffwatch_runner.worker.spool import Spooled

_LINE = 400
_UPLOAD_EVERY = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHost:
    """What a worker knows of itself. `command` is `cliffwatch`; `env` is all that its children see of the environment;
    `about` is what the service's hosts page shows of it.
    """

    name: str
    platform: str
    modes: tuple[str, ...]
    cache: Path
    command: tuple[str, ...]
    env: Mapping[str, str]
    build_image: str | None = None
    limits: JobLimits = field(default_factory=JobLimits)
    about: Mapping[str, Any] = field(default_factory=dict)


def run_argv(host: WorkerHost, job: Mapping[str, Any], results: Path) -> list[str]:
    """The `cliffwatch run` of a job. What the service does not say to be of a followed branch is anybody's."""
    return [
        *host.command,
        "run",
        *("--tree", job["tree"], "--tree-access", _access(job)),
        *("--base", job["base"], "--head", job["head"]),
        *("--suite", ",".join(job["suites"]), "--profile", job["profile"], "--mode", job["mode"]),
        *("--platform", job["platform"], "--boots", job["boots"], "--seed", str(job["seed"])),
        *("--out", str(results), "--cache", str(host.cache)),
        *("--trust", "followed" if job.get("trust") == "followed" else "outside"),
        *("--isolation", "auto"),
        *(() if host.build_image is None else ("--build-image", host.build_image)),
        *("--format", "text"),
    ]


def _access(job: Mapping[str, Any]) -> str:
    """Where the tree may be: a service that says nothing of it vouches for nothing."""
    return "allowed" if job.get("tree_access") == "allowed" else "public"


@dataclass(slots=True)
class _Watch:
    """Why a job is to end before its time; the first reason stays."""

    outcome: str | None = None
    reason: str | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    looked: threading.Event = field(default_factory=threading.Event)

    def end(self, outcome: str, reason: str) -> None:
        if not self.ended.is_set():
            self.outcome, self.reason = outcome, reason
            self.ended.set()


def do_job(
    client: Client,
    host: WorkerHost,
    job: Mapping[str, Any],
    spooled: Spooled,
    stop: threading.Event,
    say: Callable[[str], object],
) -> bool:
    """Does a job and delivers it; False where it is left for later: the worker was stopped, or the service is away."""
    watch = _Watch()
    done = threading.Event()
    events = JobEvents(client, job["lease"])
    keep = partial(_keep, client, host, job, spooled, events, watch, done)
    keeper = threading.Thread(target=_kept, args=(keep, watch), daemon=True)
    keeper.start()
    watch.looked.wait()
    try:
        finished = process.run(
            host.limits.argv(run_argv(host, job, spooled.results)),
            deadline=host.limits.seconds + 60,
            env=host.env,
            log=process.Log(spooled.log, 64 << 20),
            on_output=lambda text: _add_lines(events, text),
            should_stop=lambda: watch.ended.is_set() or stop.is_set(),
        )
    finally:
        done.set()
        keeper.join()
    if stop.is_set() and not watch.ended.is_set():
        say(f"stopped in job {job['job']}; the next start goes on with it")
        return False
    outcome, reason = _outcome(finished, watch)
    say(f"job {job['job']}: {outcome}" + (f": {reason.splitlines()[0]}" if reason else ""))
    return deliver(client, host, job, spooled, outcome, reason, stop, say)


def _kept(keep: Callable[[], None], watch: _Watch) -> None:
    """Keeps a job; a host that cannot so much as look at its disk ends it."""
    try:
        keep()
    except Exception as error:  # noqa: BLE001 - a thread that died would leave the job without a heartbeat
        watch.end("host-failed", f"this host failed: {error!r}")
    finally:
        watch.looked.set()


def _keep(
    client: Client,
    host: WorkerHost,
    job: Mapping[str, Any],
    spooled: Spooled,
    events: JobEvents,
    watch: _Watch,
    done: threading.Event,
) -> None:
    """While a job runs: beats, tells, uploads what is done, and looks at the limits."""
    began = last_beat = now = clock.monotonic()
    uploads = True
    while True:
        passed = host.limits.exceeded([spooled.folder, host.cache], now - began)
        if passed is not None:
            watch.end("host-failed", passed)
        watch.looked.set()
        if done.wait(_UPLOAD_EVERY):
            break
        now = clock.monotonic()
        if now - last_beat >= job["heartbeat_seconds"]:
            last_beat = now
            _beat(client, job, watch)
        events.send()
        uploads = uploads and _uploaded_so_far(client, host, job, spooled)
    events.send()


def _uploaded_so_far(client: Client, host: WorkerHost, job: Mapping[str, Any], spooled: Spooled) -> bool:
    """False where the results cannot be handled: the job goes on all the same, and its end says what is wrong with them."""
    try:
        if (spooled.results / "run.json").exists():
            upload_run(client, spooled.results, host.name, job=job["job"])
    except Exception:  # noqa: BLE001 - met again, and recorded, when the job is delivered
        return False
    return True


def _beat(client: Client, job: Mapping[str, Any], watch: _Watch) -> None:
    reply = client.post(f"/leases/{job['lease']}/heartbeat", {})
    if isinstance(reply, Refused) and reply.status in (404, 409):
        watch.end("lost", reply.detail)
    elif isinstance(reply, Answered) and reply.body["cancel"]:
        watch.end("cancelled", "cancelled")


def _add_lines(events: JobEvents, text: str) -> None:
    for line in text.splitlines():
        if line.strip():
            events.add("line", {"text": printable(line[:_LINE])})


def _outcome(finished: process.Finished, watch: _Watch) -> tuple[str, str | None]:
    if watch.outcome is not None:
        return watch.outcome, watch.reason
    if finished.status == Exit.DONE:
        return "done", None
    tail = printable("\n".join(finished.output.splitlines()[-40:])[-6000:])
    reason = tail or f"`cliffwatch run` ended with {finished.status}"
    theirs = finished.status in (Exit.KERNEL_FAILED, Exit.USAGE) and not finished.timed_out
    return "kernel-failed" if theirs else "host-failed", reason


def printable(text: str) -> str:
    """What a tree or a guest printed, as it can be stored and shown: no control characters but the ends of lines."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)


class Undeliverable(Exception):
    """The service will never take what a job left."""


def deliver(
    client: Client,
    host: WorkerHost,
    job: Mapping[str, Any],
    spooled: Spooled,
    outcome: str,
    reason: str | None,
    stop: threading.Event,
    say: Callable[[str], object],
) -> bool:
    """Uploads what lies in the spool and ends the lease, however long the service is away; False where `stop` came first."""
    wait = 1.0
    while True:
        reply = _delivered(client, host, job, spooled, outcome, reason)
        if reply is None:
            spooled.deliver()
            return True
        say(f"job {job['job']} waits in the spool: {reply}")
        if stop.wait(wait):
            return False
        wait = min(60.0, wait * 2)


def _delivered(
    client: Client, host: WorkerHost, job: Mapping[str, Any], spooled: Spooled, outcome: str, reason: str | None
) -> str | None:
    """None once the service has it all; else why it has not."""
    run = None
    if (spooled.results / "run.json").exists():
        uploaded = upload_run(client, spooled.results, host.name, job=job["job"])
        if isinstance(uploaded, Unreached):
            return uploaded.reason
        if isinstance(uploaded, Refused):
            outcome, reason = "host-failed", f"the service refuses the results: {uploaded.detail}"
        else:
            run = uploaded.run
            outcome, reason = _held_against(uploaded, outcome, reason)
    elif outcome == "done":
        outcome, reason = "host-failed", "`cliffwatch run` was done and left no results"
    if outcome == "lost":
        return None
    body = {"outcome": outcome, "reason": reason, "run": run}
    reply = client.post(f"/leases/{job['lease']}/complete", body)
    if isinstance(reply, Unreached):
        return reply.reason
    if isinstance(reply, Refused) and reply.status in NEVER_TAKEN:
        raise Undeliverable(reply.detail)
    # A lease that ended without us: the job is another's now, the results are here all the same.
    return None if isinstance(reply, Answered) or reply.status in (404, 409) else reply.detail


def _held_against(uploaded: Uploaded, outcome: str, reason: str | None) -> tuple[str, str | None]:
    if not uploaded.refused:
        return outcome, reason
    return "host-failed", "the service refuses " + "; ".join(uploaded.refused[:5])


def give_up(
    client: Client, job: Mapping[str, Any], spooled: Spooled | None, error: Exception, say: Callable[[str], object]
) -> None:
    """Ends a job whose results this worker cannot handle, and puts them aside: nothing measured is lost, and the next job is done."""
    what = _in_a_line(error)
    if spooled is None:
        say(f"a job that this host cannot begin: {what}")
    else:
        _put_aside(spooled, error, say)
    body = {"outcome": "host-failed", "reason": f"this host cannot handle what the job left: {what}"}
    client.post(f"/leases/{job['lease']}/complete", body)


def _in_a_line(error: Exception) -> str:
    return printable(f"{type(error).__name__}: {error}").replace("\n", " ")[:500]


def _put_aside(spooled: Spooled, error: Exception, say: Callable[[str], object]) -> None:
    """What went wrong is said in a line; all of it lies beside the results."""
    what = _in_a_line(error)
    try:
        aside = spooled.put_aside("".join(traceback.format_exception(error)))
        say(f"job {spooled.folder.name}: {what}; its results are kept in {aside}")
    except OSError as full:
        say(f"job {spooled.folder.name}: {what}; and its results cannot be put aside: {full}")


def redeliver(client: Client, host: WorkerHost, spooled: Iterable[Spooled], say: Callable[[str], object]) -> None:
    """Sends what earlier jobs left in the spool; their leases are past caring for."""
    for each in spooled:
        try:
            _redeliver(client, host, each, say)
        except OSError as error:
            say(f"what job {each.folder.name} left cannot be read now: {error}")
        except Exception as error:  # noqa: BLE001 - whatever one job left, the others are sent and new ones taken
            _put_aside(each, error, say)


def _redeliver(client: Client, host: WorkerHost, each: Spooled, say: Callable[[str], object]) -> None:
    job = each.job()
    uploaded = upload_run(client, each.results, host.name, job=None if job is None else str(job["job"]))
    if isinstance(uploaded, Refused) and uploaded.status in (403, 404, 409):
        # The service knows nothing of the job any more, or not that this host took it: a result all the same.
        uploaded = upload_run(client, each.results, host.name)
    if isinstance(uploaded, Uploaded):
        say(f"sent what job {each.folder.name} left: {counted(uploaded.sent, 'boot')}")
        each.deliver()
    elif isinstance(uploaded, Refused) and uploaded.status in (DAMAGED, *NEVER_TAKEN):
        raise Undeliverable(uploaded.detail)
    else:
        why = uploaded.detail if isinstance(uploaded, Refused) else uploaded.reason
        say(f"the service has not what job {each.folder.name} left: {why}")
