"""Jobs and the hosts that do them: offers, leases, and what becomes of a job whose host falls silent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID, uuid4

from psycopg import Connection

from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import queue, runs, tokens

MOST_HOSTS = 2
"""After so many hosts failed at it by their own fault, a job is parked for operators to look at."""

AT_WORK = timedelta(minutes=10)
"""A host that was heard of within this is one that works."""

Outcome = Literal["done", "kernel-failed", "host-failed", "cancelled"]
ENDS: Mapping[str, str] = {"done": "done", "kernel-failed": "failed", "cancelled": "cancelled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A host that wants work: what it can do, and how it isolates the builds of other people's trees."""

    host: str
    platform: str
    modes: Sequence[str]
    isolation: str
    about: Mapping[str, Any]


def offer(
    connection: Connection[Any], offered: Offer, *, lease_for: timedelta, now: datetime
) -> tuple[UUID, Mapping[str, Any]] | None:
    """A lease and its job; None where there is nothing to do. Raises Refusal.

    A host holds one lease. One that asks again while it holds one has lost its answer, or its memory: it gets the same job.
    """
    if offered.isolation == "none":
        raise Refusal(
            403, "no isolation", "this host cannot isolate builds: install bubblewrap (`cliffwatch doctor` says how)"
        )
    about = {**offered.about, "modes": list(offered.modes)}
    host = queue.keep_host(connection, offered.host, offered.platform, about, now)
    if host["platform"] != offered.platform:
        raise Refusal(
            409, "another platform", f"host {offered.host} is of platform {host['platform']}, not {offered.platform}"
        )
    expire(connection, now)
    held = queue.open_lease_of_host(connection, host["id"])
    if held is not None:
        queue.extend_lease(connection, held["id"], now + lease_for)
        return held["id"], _job(connection, held["job_id"])
    job = queue.take_next(connection, offered.platform, offered.modes, host["id"])
    if job is None:
        return None
    lease = uuid4()
    queue.insert_lease(connection, lease, job, host["id"], now, lease_for)
    queue.write_own_event(connection, job, "leased", {"host": offered.host}, now)
    return lease, _job(connection, job)


def _job(connection: Connection[Any], identity: UUID) -> Mapping[str, Any]:
    row = queue.job_row(connection, identity)
    assert row is not None
    return row


def heartbeat(connection: Connection[Any], lease: UUID, *, lease_for: timedelta, now: datetime) -> bool:
    """Keeps a lease; whether its job is to be cancelled. Raises Refusal for a lease that has ended: its job is another's."""
    held = _open(connection, lease)
    queue.extend_lease(connection, lease, now + lease_for)
    queue.see_host(connection, held["host_id"], now)
    job = queue.lock_job(connection, held["job_id"])
    assert job is not None
    return bool(job["cancel"])


def _open(connection: Connection[Any], lease: UUID) -> Mapping[str, Any]:
    held = queue.lock_lease(connection, lease)
    if held is None:
        raise not_found("lease", str(lease))
    if held["ended"] is not None:
        raise Refusal(
            409,
            "lease ended",
            f"this lease ended ({held['outcome']}): drop the job; what was uploaded stays",
            outcome=held["outcome"],
        )
    return held


def tell(
    connection: Connection[Any], lease: UUID, events: Sequence[tuple[int, str, Mapping[str, Any], datetime]]
) -> None:
    """Events (number, kind, data, time) of a job under way; each number of a lease is kept once."""
    held = _open(connection, lease)
    for number, kind, data, at in events:
        queue.write_event(connection, held["job_id"], lease, number, kind, data, at)


def complete(
    connection: Connection[Any], lease: UUID, *, outcome: Outcome, reason: str | None, run: str | None, now: datetime
) -> str:
    """Ends a lease and answers the job's state. Done twice with the same outcome, it answers the same. Raises Refusal."""
    held = queue.lock_lease(connection, lease)
    if held is not None and held["ended"] is not None and held["outcome"] == outcome:
        return str(_job(connection, held["job_id"])["state"])
    held = _open(connection, lease)
    if outcome == "done" and run is None:
        raise Refusal(422, "no run", "a job that is done has a run: name the one that was uploaded for it")
    run_id = None
    if run is not None:
        row = runs.run_row(connection, run)
        if row is None:
            raise Refusal(409, "run not here", f"run {run} is not uploaded yet: upload it, then complete the job")
        run_id = row["id"]
    queue.see_host(connection, held["host_id"], now)
    return _end(connection, held, outcome, reason, run_id, now)


def _end(
    connection: Connection[Any],
    lease: Mapping[str, Any],
    outcome: str,
    reason: str | None,
    run_id: int | None,
    now: datetime,
) -> str:
    """What becomes of a job: a result is one, whoever's fault it is; a host's fault sends it to another host, twice."""
    queue.end_lease(connection, lease["id"], outcome, reason, now)
    job = queue.lock_job(connection, lease["job_id"])
    assert job is not None
    failed = list(job["failed_hosts"])
    state = ENDS.get(outcome)
    if state is None and job["cancel"]:
        state = "cancelled"
    if state is None:
        failed = failed if outcome == "expired" else sorted({*failed, lease["host_id"]})
        state = "parked" if len(failed) >= MOST_HOSTS else "queued"
    ended = None if state == "queued" else now
    queue.set_job(connection, job["id"], state, reason=reason, failed_hosts=failed, run_id=run_id, ended=ended)
    queue.write_own_event(connection, job["id"], state, {"outcome": outcome, "reason": reason}, now)
    return state


def expire(connection: Connection[Any], now: datetime) -> int:
    """Takes back the leases of hosts that fell silent; how many. Their jobs go back to the queue, at their old place."""
    silent = queue.expired_leases(connection, now)
    for lease in silent:
        reason = "the host fell silent"
        _end(connection, lease, "expired", reason, None, now)
    return len(silent)


def keep_leases(connection: Connection[Any], length: timedelta, now: datetime) -> int:
    """Gives every open lease its time again, as a service does that was away: hosts could not reach it. How many."""
    return queue.renew_leases(connection, now + length)


def cancel(connection: Connection[Any], identity: UUID, *, who: str, now: datetime) -> str:
    """Cancels a job; one that runs hears of it with its host's next heartbeat. Answers its state. Raises Refusal."""
    job = queue.lock_job(connection, identity)
    if job is None:
        raise not_found("job", str(identity))
    tokens.write_audit(
        connection, who=who, action="cancel", what=str(identity), detail={"state": job["state"]}, now=now
    )
    if job["state"] in ("queued", "parked"):
        queue.set_job(
            connection,
            identity,
            "cancelled",
            reason=f"cancelled by {who}",
            failed_hosts=job["failed_hosts"],
            run_id=None,
            ended=now,
        )
        queue.write_own_event(connection, identity, "cancelled", {"by": who}, now)
        return "cancelled"
    if job["state"] == "leased":
        queue.ask_cancel(connection, identity)
        queue.write_own_event(connection, identity, "cancelling", {"by": who}, now)
    return str(job["state"])


def retry(connection: Connection[Any], identity: UUID, *, who: str, now: datetime) -> str:
    """Puts a parked, failed or cancelled job back into the queue, with all hosts to choose from. Raises Refusal."""
    job = queue.lock_job(connection, identity)
    if job is None:
        raise not_found("job", str(identity))
    if job["state"] not in ("parked", "failed", "cancelled"):
        raise Refusal(
            409, "nothing to retry", f"the job is {job['state']}: only parked, failed and cancelled ones are put back"
        )
    queue.reopen_job(connection, identity)
    queue.write_own_event(connection, identity, "queued", {"by": who}, now)
    tokens.write_audit(connection, who=who, action="retry", what=str(identity), detail={"state": job["state"]}, now=now)
    return "queued"
