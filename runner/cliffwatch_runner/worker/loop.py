"""Takes one job after the other until it is told to stop."""

import threading
from collections.abc import Callable
from typing import Any

from cliffwatch_runner.client import Answered, Client, Refused, Reply
from cliffwatch_runner.failure import Failure
from cliffwatch_runner.isolation import strongest_level
from cliffwatch_runner.worker.job import Host, do_job, redeliver
from cliffwatch_runner.worker.spool import Spool

_ISOLATIONS = {"bubblewrap": "bubblewrap", "container": "container"}


def work(
    client: Client,
    host: Host,
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
        if not isinstance(reply, Answered) or reply.body is None:
            _idle(client, host, spool, reply, say)
            drain.wait(idle)
            continue
        job = reply.body
        say(f"job {job['job']}: {job['base'][:12]}..{job['head'][:12]} of {job['tree']}, {job['mode']}")
        try:
            done = do_job(client, host, job, spool.begin(job), stop, say)
        except OSError as error:
            say(f"job {job['job']}: this host failed: {error}")
            body = {"outcome": "host-failed", "reason": str(error)}
            client.post(f"/leases/{job['lease']}/complete", body)
            drain.wait(idle)
            continue
        if done and jobs is not None:
            jobs -= 1
    return None


def _idle(client: Client, host: Host, spool: Spool, reply: Reply, say: Callable[[str], object]) -> None:
    """Nothing to do, or nobody to ask."""
    if isinstance(reply, Answered):
        redeliver(client, host, list(spool.waiting()), say)
    else:
        say(f"no word from the service: {reply.detail if isinstance(reply, Refused) else reply.reason}")


def _offer(host: Host) -> dict[str, Any]:
    return {
        "host": host.name,
        "platform": host.platform,
        "modes": list(host.modes),
        "isolation": _ISOLATIONS.get(strongest_level(), "none"),
        "about": {"modes": list(host.modes), **host.about},
    }
