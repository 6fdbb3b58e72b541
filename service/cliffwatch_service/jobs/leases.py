"""Leases jobs to hosts: offers, heartbeats, and jobs whose host went offline."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from psycopg import Connection

from cliffwatch.formats.values import FreeJson
from cliffwatch.formats.work import JobOutcome, Trust
from cliffwatch_service.access.authorisation import refuse_foreign_lease, refuse_host_name
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.ingest.provenance import trust_of
from cliffwatch_service.jobs.quarantine import allowed_modes
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import background, runs, tokens
from cliffwatch_service.store.work import hosts, leases, quarantines, queue
from cliffwatch_service.store.work.hosts import HostRow
from cliffwatch_service.store.work.leases import LeaseOutcome, LeaseRow, NewLease
from cliffwatch_service.store.work.quarantines import QuarantineRow
from cliffwatch_service.store.work.queue import FailedParty, HostAbilities, JobRow, JobState

MOST_HOSTS = 2
"""After this many hosts failed at a job by their own fault, it is parked for an operator."""

MOST_ABSENCES = 5
"""After its hosts went offline this many times, a job is parked: the job itself may crash them."""

ONLINE_WITHIN = timedelta(minutes=10)
"""A host that was seen within this time is online."""

ENDS: Mapping[LeaseOutcome, JobState] = {
    "done": "done",
    "kernel-failed": "failed",
    "not-possible": "failed",
    "cancelled": "cancelled",
}
_WHOSE: Mapping[LeaseOutcome, FailedParty] = {"kernel-failed": "kernel", "not-possible": "usage"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A host's offer to work."""

    host: str
    platform: str
    modes: Sequence[str]
    isolation: str
    """How the host isolates builds of other people's trees; `none` is refused."""
    abilities: HostAbilities
    about: FreeJson


@dataclass(frozen=True, slots=True)
class Granted:
    """A lease and its job."""

    lease: UUID
    job: JobRow
    trust: Trust
    """Whose code the job builds."""


def offer(
    connection: Connection[Any], offered: Offer, *, by: Caller, lease_for: timedelta, now: datetime
) -> Granted | QuarantineRow | None:
    """Leases the next job to a host; None if there is nothing to do. Raises Refusal.

    Returns the host's quarantine if that keeps it from work: it gets no walltime job, and there is no other.

    A host holds one lease. If it asks again while it holds one, it gets the same job: it lost the answer, or
    its memory.
    """
    refuse_host_name(connection, by, offered.host, now)
    if offered.isolation == "none":
        raise Refusal(
            403,
            "no isolation",
            "this host cannot isolate builds: install bubblewrap (`cliffwatch doctor` says how)",
        )
    about = {**offered.about, "modes": list(offered.modes), **asdict(offered.abilities)}
    host = hosts.keep_host(connection, offered.host, offered.platform, about, now)
    _keep_holder(connection, host, offered, by, now)
    hosts.drop_unfit(connection, host.id, offered.modes)
    expire(connection, now)
    open_lease = leases.open_lease_of_host(connection, host.id)
    if open_lease is not None and open_lease.enrolled == (by.host is not None):
        leases.extend_lease(connection, open_lease.id, now + lease_for)
        return Granted(open_lease.id, job_of(connection, open_lease.job_id), open_lease.trust)
    if open_lease is not None:
        _end(connection, open_lease, "expired", f"host {offered.host} now has a token of its own", None, now)
    quarantine = quarantines.quarantine_of(connection, host.id)
    modes = allowed_modes(offered.modes, quarantine)
    identity = queue.take_next(connection, offered.platform, modes, host.id, offered.abilities)
    if identity is None:
        return quarantine if len(modes) < len(offered.modes) else None
    job = job_of(connection, identity)
    lease = NewLease(
        id=uuid4(),
        job_id=identity,
        host_id=host.id,
        token_id=by.token_id,
        enrolled=by.host is not None,
        trust=trust_of(connection, job),
    )
    leases.insert_lease(connection, lease, now, lease_for)
    queue.write_own_event(connection, identity, "leased", {"host": offered.host}, now)
    return Granted(lease.id, job_of(connection, identity), lease.trust)


def _keep_holder(
    connection: Connection[Any], host: HostRow, offered: Offer, by: Caller, now: datetime
) -> None:
    """Binds a host's name and platform to the token that works under the name.

    A name belongs to its first token until an administrator makes a token for the host. The new token then
    takes over the name and may bring another platform. Raises Refusal if the name belongs to another valid
    token, or if the same token comes with another platform than before.
    """
    holder = host.token_id
    taken = holder is not None and holder != by.token_id and tokens.is_good(connection, holder, now)
    if taken and by.host is None:
        raise Refusal(
            403,
            "another host's name",
            f"host {offered.host!r} works with another token than {by.name!r}:"
            " choose another name (`cliffwatch worker --name`)",
        )
    if holder == by.token_id and host.platform != offered.platform:
        raise Refusal(
            409,
            "another platform",
            f"host {offered.host} is of platform {host.platform}, not {offered.platform}:"
            " choose another name, or have an administrator make a new token for it",
        )
    if holder != by.token_id:
        hosts.give_host(connection, host.id, by.token_id, offered.platform)


def job_of(connection: Connection[Any], identity: UUID) -> JobRow:
    row = queue.job_row(connection, identity)
    assert row is not None
    return row


def heartbeat(
    connection: Connection[Any], lease: UUID, *, by: Caller, lease_for: timedelta, now: datetime
) -> bool:
    """Renews a lease and returns whether its job is to be cancelled.

    Raises Refusal if the lease has ended: its job is no longer this host's.
    """
    lease_row = _lock_open_lease(connection, lease, by)
    leases.extend_lease(connection, lease, now + lease_for)
    hosts.see_host(connection, lease_row.host_id, now)
    job = queue.lock_job(connection, lease_row.job_id)
    assert job is not None
    return job.cancel


def request_of_lease(connection: Connection[Any], lease: UUID, *, by: Caller) -> UUID:
    """Returns the id of the request that the leased job belongs to. Raises Refusal if the lease has ended."""
    return job_of(connection, _lock_open_lease(connection, lease, by).job_id).request_id


def _lock_own_lease(connection: Connection[Any], lease: UUID, by: Caller) -> LeaseRow:
    lease_row = leases.lock_lease(connection, lease)
    if lease_row is None:
        raise not_found("lease", str(lease))
    refuse_foreign_lease(by, lease_row)
    return lease_row


def _lock_open_lease(connection: Connection[Any], lease: UUID, by: Caller) -> LeaseRow:
    lease_row = _lock_own_lease(connection, lease, by)
    if lease_row.ended is not None:
        raise Refusal(
            409,
            "lease ended",
            f"this lease ended ({lease_row.outcome}): drop the job; what was uploaded stays",
            outcome=lease_row.outcome,
        )
    return lease_row


def add_events(
    connection: Connection[Any],
    lease: UUID,
    events: Sequence[tuple[int, str, FreeJson, datetime]],
    *,
    by: Caller,
) -> None:
    """Stores events (number, kind, data, time) of a job under way. Each number is stored once per lease."""
    lease_row = _lock_open_lease(connection, lease, by)
    for number, kind, data, at in events:
        queue.write_event(connection, lease_row.job_id, lease, number, kind, data, at)


def complete(
    connection: Connection[Any],
    lease: UUID,
    *,
    outcome: JobOutcome,
    reason: str | None,
    run: str | None,
    by: Caller,
    now: datetime,
) -> JobState:
    """Ends a lease and returns the job's state. Raises Refusal.

    A second call with the same outcome changes nothing.
    """
    lease_row = _lock_own_lease(connection, lease, by)
    if lease_row.ended is not None and lease_row.outcome == outcome:
        return job_of(connection, lease_row.job_id).state
    lease_row = _lock_open_lease(connection, lease, by)
    if outcome == "done" and run is None:
        raise Refusal(422, "no run", "a job that is done has a run: name the run that was uploaded for it")
    run_id = None if run is None else _own_run(connection, lease_row, run)
    hosts.see_host(connection, lease_row.host_id, now)
    return _end(connection, lease_row, outcome, reason, run_id, now)


def _own_run(connection: Connection[Any], lease: LeaseRow, run: str) -> int:
    """Returns the run's id. Raises Refusal unless this host made the run for this job."""
    row = runs.run_row(connection, run)
    if row is None:
        raise Refusal(409, "run not here", f"run {run} is not uploaded yet: upload it, then complete the job")
    of_job = row.lease_id is not None and leases.job_of_lease(connection, row.lease_id) == lease.job_id
    if not of_job or row.host_id != lease.host_id:
        raise Refusal(
            409,
            "another job's run",
            f"run {run} was not made by host {lease.host} for job {lease.job_id}:"
            " name the run uploaded for this job",
        )
    return row.id


def _end(
    connection: Connection[Any],
    lease: LeaseRow,
    outcome: LeaseOutcome,
    reason: str | None,
    run_id: int | None,
    now: datetime,
) -> JobState:
    """Ends a lease and returns the new state of its job.

    - A result is final, whoever's fault a failure is.
    - A host's own fault sends the job to another host, until `MOST_HOSTS` hosts failed at it.
    - If its host went offline, any host may get the job, until that happened `MOST_ABSENCES` times.
    - A host that gives a job back before it begins may get it again, once the host is fit.
    """
    leases.end_lease(connection, lease.id, outcome, reason, now)
    job = queue.lock_job(connection, lease.job_id)
    assert job is not None
    if outcome == "given-back":
        hosts.keep_unfit(
            connection, lease.host_id, job_of(connection, job.id).mode, reason or "it gave no reason"
        )
    failed = job.failed_hosts
    state = ENDS.get(outcome)
    if state is None and job.cancel:
        state = "cancelled"
    if state is None:
        failed = failed if outcome in ("expired", "given-back") else sorted({*failed, lease.host_id})
        absences = leases.absences_of(connection, job.id)
        state = "parked" if len(failed) >= MOST_HOSTS or absences >= MOST_ABSENCES else "queued"
        if absences >= MOST_ABSENCES:
            reason = f"its hosts went offline {absences} times: read their logs before you retry it"
    ended = None if state == "queued" else now
    queue.set_job(
        connection,
        job.id,
        state,
        whose=_WHOSE.get(outcome),
        reason=reason,
        failed_hosts=failed,
        run_id=run_id,
        ended=ended,
    )
    queue.write_own_event(connection, job.id, state, {"outcome": outcome, "reason": reason}, now)
    if state in ("failed", "cancelled"):  # a job that is done advances after the analysis of its run
        background.ask_advance(connection)
    return state


def expire(connection: Connection[Any], now: datetime) -> int:
    """Ends the leases of hosts that went offline and returns their number.

    The jobs keep their place in the queue.
    """
    leases.regrant_future_leases(connection, now)
    expired = leases.expired_leases(connection, now)
    for lease in expired:
        reason = "the host went offline"
        _end(connection, lease, "expired", reason, None, now)
    return len(expired)


def keep_leases(connection: Connection[Any], length: timedelta, now: datetime) -> int:
    """Renews all open leases after the service was down and hosts could not. Returns their number."""
    return leases.renew_leases(connection, now + length)
