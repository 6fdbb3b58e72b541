"""One job on this host: runs `cliffwatch run`, keeps the lease, and uploads each boot as it is done."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cliffwatch.counting import counted
from cliffwatch.exits import Exit
from cliffwatch_runner import clock, process
from cliffwatch_runner.client import Answered, Client, Refused, Unreached
from cliffwatch_runner.uploading import Uploaded, upload_run
from cliffwatch_runner.worker.limits import Limits
from cliffwatch_runner.worker.spool import Spooled
from cliffwatch_runner.worker.telling import Telling

_LINE = 400
_UPLOAD_EVERY = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a worker knows of itself. `command` is `cliffwatch`; `env` is all that its children see of the environment;
    `about` is what the service's hosts page shows of it.
    """

    name: str
    platform: str
    modes: tuple[str, ...]
    cache: Path
    command: tuple[str, ...]
    env: Mapping[str, str]
    limits: Limits = field(default_factory=Limits)
    about: Mapping[str, Any] = field(default_factory=dict)


def run_argv(host: Host, job: Mapping[str, Any], results: Path) -> list[str]:
    """The `cliffwatch run` of a job: builds in a lane of their own, and only where they can be isolated."""
    return [
        *host.command,
        "run",
        *("--tree", job["tree"], "--base", job["base"], "--head", job["head"]),
        *("--suite", ",".join(job["suites"]), "--profile", job["profile"], "--mode", job["mode"]),
        *("--platform", job["platform"], "--boots", job["boots"], "--seed", str(job["seed"])),
        *("--out", str(results), "--cache", str(host.cache)),
        *("--fresh-build", "--require-isolation"),
        *("--format", "text"),
    ]


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
    host: Host,
    job: Mapping[str, Any],
    spooled: Spooled,
    stop: threading.Event,
    say: Callable[[str], object],
) -> bool:
    """Does a job and delivers it; False where it is left for later: the worker was stopped, or the service is away."""
    watch = _Watch()
    done = threading.Event()
    telling = Telling(client, job["lease"])
    keep = partial(_keep, client, host, job, spooled, telling, watch, done)
    keeper = threading.Thread(target=_kept, args=(keep, watch), daemon=True)
    keeper.start()
    watch.looked.wait()
    try:
        finished = process.run(
            host.limits.argv(run_argv(host, job, spooled.results)),
            deadline=host.limits.seconds + 60,
            env=host.env,
            log=process.Log(spooled.log, 64 << 20),
            on_output=lambda text: _tell_lines(telling, text),
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
    except OSError as error:
        watch.end("host-failed", f"this host failed: {error}")
    finally:
        watch.looked.set()


def _keep(
    client: Client,
    host: Host,
    job: Mapping[str, Any],
    spooled: Spooled,
    telling: Telling,
    watch: _Watch,
    done: threading.Event,
) -> None:
    """While a job runs: beats, tells, uploads what is done, and looks at the limits."""
    began = last_beat = now = clock.monotonic()
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
        telling.send()
        if (spooled.results / "run.json").exists():
            upload_run(client, spooled.results, host.name, job=job["job"])
    telling.send()


def _beat(client: Client, job: Mapping[str, Any], watch: _Watch) -> None:
    reply = client.post(f"/leases/{job['lease']}/heartbeat", {})
    if isinstance(reply, Refused) and reply.status in (404, 409):
        watch.end("lost", reply.detail)
    elif isinstance(reply, Answered) and reply.body["cancel"]:
        watch.end("cancelled", "cancelled")


def _tell_lines(telling: Telling, text: str) -> None:
    for line in text.splitlines():
        if line.strip():
            telling.tell("line", {"text": line[:_LINE]})


def _outcome(finished: process.Finished, watch: _Watch) -> tuple[str, str | None]:
    if watch.outcome is not None:
        return watch.outcome, watch.reason
    if finished.status in (Exit.DONE, Exit.FAIL_ON_MET):
        return "done", None
    tail = "\n".join(finished.output.splitlines()[-40:])[-6000:]
    if finished.timed_out or finished.status == Exit.HOST_FAILED or finished.status < 0:
        return "host-failed", tail or f"`cliffwatch run` ended with {finished.status}"
    return "kernel-failed", tail or f"`cliffwatch run` ended with {finished.status}"


def deliver(
    client: Client,
    host: Host,
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
    client: Client, host: Host, job: Mapping[str, Any], spooled: Spooled, outcome: str, reason: str | None
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
    # A lease that ended without us: the job is another's now, the results are here all the same.
    return None if isinstance(reply, Answered) or reply.status in (404, 409) else reply.detail


def _held_against(uploaded: Uploaded, outcome: str, reason: str | None) -> tuple[str, str | None]:
    if not uploaded.refused:
        return outcome, reason
    return "host-failed", "the service refuses " + "; ".join(uploaded.refused[:5])


def redeliver(client: Client, host: Host, spooled: Sequence[Spooled], say: Callable[[str], object]) -> None:
    """Sends what earlier jobs left in the spool; their leases are past caring for."""
    for each in spooled:
        job = each.job()
        uploaded = upload_run(client, each.results, host.name, job=None if job is None else str(job["job"]))
        if isinstance(uploaded, Refused) and uploaded.status == 404:
            uploaded = upload_run(client, each.results, host.name)  # the service knows nothing of the job any more
        if isinstance(uploaded, Uploaded):
            say(f"sent what job {each.folder.name} left: {counted(uploaded.sent, 'boot')}")
            each.deliver()
        else:
            why = uploaded.detail if isinstance(uploaded, Refused) else uploaded.reason
            say(f"the service has not what job {each.folder.name} left: {why}")
