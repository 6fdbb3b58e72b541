"""Takes one job after the other until it is told to stop."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from cliffwatch.tree_addresses import without_credentials
from cliffwatch_runner.failure import Failure
from cliffwatch_runner.upload.client import Answered, Client, Refused, Reply
from cliffwatch_runner.worker.job import WorkerHost, do_job, give_up, redeliver
from cliffwatch_runner.worker.spool import Spool

_TOLD = ("job", "lease", "base", "head", "tree", "mode")


def work(
    client: Client,
    host: WorkerHost,
    spool: Spool,
    *,
    drain: threading.Event,
    stop: threading.Event,
    say: Callable[[str], object],
    idle: float = 10.0,
    jobs: int | None = None,
) -> Failure | None:
    """Works until `drain` (takes no further job) or `stop` (leaves the one under way) is set, or `jobs` are done.

    Answers why it gave up, where the service will have nothing of this host.
    """
    while not drain.is_set() and not stop.is_set() and jobs != 0:
        reply = client.post("/offers", _offer(host))
        if isinstance(reply, Refused) and reply.status in (401, 403, 409):
            return Failure(
                whose="usage", message=f"the service refuses: {reply.detail}", next_step="mend that and start again"
            )
        if not isinstance(reply, Answered) or reply.body is None or not _whole(reply.body):
            _idle(client, host, spool, reply, say)
            drain.wait(idle)
            continue
        job = reply.body
        say(
            f"job {job['job']}: {job['base'][:12]}..{job['head'][:12]} of {without_credentials(job['tree'])}, {job['mode']}"
        )
        done = _attempt(client, host, job, spool, stop, say)
        if done is None:
            drain.wait(idle)
        elif done and jobs is not None:
            jobs -= 1
    return None


def _whole(job: Any) -> bool:
    """Whether an answer is a job, with all that is told of one before it is begun."""
    return isinstance(job, dict) and all(isinstance(job.get(name), str) for name in _TOLD)


def _attempt(
    client: Client,
    host: WorkerHost,
    job: Mapping[str, Any],
    spool: Spool,
    stop: threading.Event,
    say: Callable[[str], object],
) -> bool | None:
    """Whether a job is done and delivered; None where this host failed at it. Whatever one job does, the next one is taken."""
    spooled = None
    try:
        spooled = spool.begin(job)
        return do_job(client, host, job, spooled, stop, say)
    except OSError as error:
        say(f"job {job['job']}: this host failed: {error}")
        client.post(f"/leases/{job['lease']}/complete", {"outcome": "host-failed", "reason": str(error)})
    except Exception as error:  # noqa: BLE001 - a job's own failure never ends the worker
        give_up(client, job, spooled, error, say)
    return None


def _idle(client: Client, host: WorkerHost, spool: Spool, reply: Reply, say: Callable[[str], object]) -> None:
    """Nothing to do, or nobody to ask."""
    if isinstance(reply, Answered):
        redeliver(client, host, spool.waiting(), say)
    else:
        say(f"no word from the service: {reply.detail if isinstance(reply, Refused) else reply.reason}")


def _offer(host: WorkerHost) -> dict[str, Any]:
    return {
        "host": host.name,
        "platform": host.platform,
        "modes": list(host.modes),
        "isolation": "bubblewrap" if host.build_image is None else "container",
        "about": {"modes": list(host.modes), **host.about},
    }
