"""Does one job after another until asked to stop."""

import threading
from collections.abc import Callable

from cliffwatch.failure import Failure, HttpFailure, wrong_usage
from cliffwatch.formats.reading import as_json, convert_to
from cliffwatch.formats.work import HostOffer, JobEnd, Leased, Work
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import Mode
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_runner.upload.client import Answered, Client, Reply
from cliffwatch_runner.worker.delivery import LONGEST_REASON, end_failed, give_up, redeliver
from cliffwatch_runner.worker.host import LeasedJob, Worker, WorkerHost
from cliffwatch_runner.worker.job import do_job
from cliffwatch_runner.worker.spool import Spool

_IN_QUARANTINE = 423
"""Status with which the service answers a host that it gives no walltime job."""


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
    """Works until `drain` (take no further job) or `stop` (interrupt the current job) is set, or `jobs` are
    done.

    Returns why it gave up if the service refuses this host; otherwise None.
    """
    worker = Worker(client, host, say)
    able, quarantine = host.modes, ""
    while not drain.is_set() and not stop.is_set() and jobs != 0:
        if able != host.modes:
            able = tuple(mode for mode in host.modes if host.unfit(mode) is None)
        if not able:
            drain.wait(idle)
            continue
        reply = client.post("/offers", as_json(_offer(host, able)))
        if isinstance(reply, HttpFailure) and reply.status in (401, 403, 409):
            return wrong_usage(f"the service refuses: {reply.message}", "fix that and start again")
        offer = _work(worker, reply)
        quarantine = _say_quarantine(worker, reply, quarantine)
        if offer is None:
            _idle(worker, spool, reply)
            drain.wait(max(idle, reply.wait) if isinstance(reply, HttpFailure) else idle)
            continue
        unfit = host.unfit(offer.mode)
        if unfit is not None:
            _give_back(worker, offer, unfit)
            able = tuple(mode for mode in able if mode != offer.mode)
            continue
        arms = ", ".join(arm.name for arm in offer.setup.arms)
        revisions = arms or f"{offer.base[:12]}..{offer.head[:12]}"
        say(f"job {offer.job}: {revisions} of {without_credentials(offer.tree)}, {offer.mode}")
        done = _attempt(worker, offer, spool, stop)
        if done is None:
            drain.wait(idle)
        elif done and jobs is not None:
            jobs -= 1
    return None


def _say_quarantine(worker: Worker, reply: Reply, before: str) -> str:
    """Says once that this host is in quarantine, and once that it is not any more. Returns what it said."""
    reason = reply.message if isinstance(reply, HttpFailure) and reply.status == _IN_QUARANTINE else ""
    ended = before and isinstance(reply, Answered)
    if reason and reason != before:
        worker.say(f"no walltime job: {reason}")
    elif ended:
        worker.say("the quarantine has ended, or there is a job of another mode")
    return reason or ("" if ended else before)


def _work(worker: Worker, reply: Reply) -> Work | None:
    """Returns the job of an answer; None if there is none.

    If this host cannot read the job, ends its lease so that another host gets it.
    """
    if not isinstance(reply, Answered) or reply.body is None:
        return None
    offer = convert_to(reply.body, Work)
    if not isinstance(offer, Problem):
        return offer
    worker.say(f"the service did not answer with a job: {offer}")
    leased = convert_to(reply.body, Leased)
    if not isinstance(leased, Problem):
        end_failed(worker, leased, f"this host cannot read the job: {offer}")
    return None


def _give_back(worker: Worker, offer: Work, unfit: Failure) -> None:
    """Ends a lease before its job begins, so that another host does it.

    No other job of this mode is requested until this host is fit again.
    """
    worker.say(f"job {offer.job} is given back: {unfit}")
    end = JobEnd(outcome="given-back", reason=str(unfit)[:LONGEST_REASON])
    worker.client.post(f"/leases/{offer.lease}/complete", as_json(end))


def _attempt(worker: Worker, offer: Work, spool: Spool, stop: threading.Event) -> bool | None:
    """Does a job.

    True if it was done and delivered; None if this host failed at it. The worker continues in any case.
    """
    spooled = None
    try:
        spooled = spool.begin(offer)
        return do_job(LeasedJob(worker, offer, spooled, stop))
    except OSError as error:
        worker.say(f"job {offer.job}: this host failed: {error}")
        end_failed(worker, offer, str(error))
    except Exception as error:  # noqa: BLE001 - a job's own failure never ends the worker
        give_up(worker, offer, spooled, error)
    return None


def _idle(worker: Worker, spool: Spool, reply: Reply) -> None:
    """Uses the time without a job to deliver earlier results, or reports that the service does not answer."""
    if isinstance(reply, Answered) or reply.status == _IN_QUARANTINE:
        redeliver(worker, spool.waiting())
    else:
        worker.say(f"no answer from the service: {reply.message}")


def _offer(host: WorkerHost, modes: tuple[Mode, ...]) -> HostOffer:
    return HostOffer(
        host=host.name,
        platform=host.platform,
        modes=modes,
        isolation="bubblewrap" if not host.build_images and host.builders is None else "container",
        setups=True,
        build_images=host.build_images,
        cpus=host.cpus,
        about={"modes": list(host.modes), **host.about},
    )
