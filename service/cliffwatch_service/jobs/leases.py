"""Jobs and the hosts that do them: offers, leases, and what becomes of a job whose host goes offline."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from psycopg import Connection

from cliffwatch.formats.values import FreeJson
from cliffwatch.formats.work import JobOutcome
from cliffwatch_service.access.authorisation import refuse_foreign_lease, refuse_host_name
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.ingest.provenance import trust_of
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import background, runs, tokens
from cliffwatch_service.store.work import hosts, leases, queue
from cliffwatch_service.store.work.hosts import HostRow
from cliffwatch_service.store.work.leases import LeaseOutcome, LeaseRow, NewLease, Trust
from cliffwatch_service.store.work.queue import FailedParty, HostAbilities, JobRow, JobState

MOST_HOSTS = 2
"""After so many hosts failed at it by their own fault, a job is parked for operators to look at."""

MOST_ABSENCES = 5
"""After its hosts went offline so many times, whichever hosts they were, a job is parked: it may be what ends them."""

AT_WORK = timedelta(minutes=10)
"""A host that was seen within this is online."""

ENDS: Mapping[LeaseOutcome, JobState] = {
    "done": "done",
    "kernel-failed": "failed",
    "not-possible": "failed",
    "cancelled": "cancelled",
}
_WHOSE: Mapping[LeaseOutcome, FailedParty] = {"kernel-failed": "kernel", "not-possible": "usage"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A host that wants work: what it can do, and how it isolates the builds of other people's trees."""

    host: str
    platform: str
    modes: Sequence[str]
    isolation: str
    abilities: HostAbilities
    about: FreeJson


@dataclass(frozen=True, slots=True)
class Granted:
    """A lease, its job, and whose code that is."""

    lease: UUID
    job: JobRow
    trust: Trust


def offer(
    connection: Connection[Any], offered: Offer, *, by: Caller, lease_for: timedelta, now: datetime
) -> Granted | None:
    """None where there is nothing to do. Raises Refusal.

    A host holds one lease. One that asks again while it holds one has lost its answer, or its memory: it gets the same job.
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
    expire(connection, now)
    open_lease = leases.open_lease_of_host(connection, host.id)
    if open_lease is not None and open_lease.enrolled == (by.host is not None):
        leases.extend_lease(connection, open_lease.id, now + lease_for)
        return Granted(open_lease.id, job_of(connection, open_lease.job_id), open_lease.trust)
    if open_lease is not None:
        _end(
            connection, open_lease, "expired", f"host {offered.host} has a token of its own since", None, now
        )
    identity = queue.take_next(connection, offered.platform, offered.modes, host.id, offered.abilities)
    if identity is None:
        return None
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
    """A name is its first worker's until an administrator makes a token for it, who then says what platform it is of.

    Raises Refusal for another worker of that name, and for another platform than its own before.
    """
    holder = host.token_id
    taken = holder is not None and holder != by.token_id and tokens.is_good(connection, holder, now)
    if taken and by.host is None:
        raise Refusal(
            403,
            "another host's name",
            f"host {offered.host!r} works with another token than {by.name!r}: choose another name (`cliffwatch worker --name`)",
        )
    if holder == by.token_id and host.platform != offered.platform:
        raise Refusal(
            409,
            "another platform",
            f"host {offered.host} is of platform {host.platform}, not {offered.platform}: choose another name, or have an"
            " administrator make a new token for it",
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
    """Keeps a lease; whether its job is to be cancelled. Raises Refusal for a lease that has ended: its job is another's."""
    lease_row = _open(connection, lease, by)
    leases.extend_lease(connection, lease, now + lease_for)
    hosts.see_host(connection, lease_row.host_id, now)
    job = queue.lock_job(connection, lease_row.job_id)
    assert job is not None
    return job.cancel


def request_of_lease(connection: Connection[Any], lease: UUID, *, by: Caller) -> UUID:
    """The request whose job is done under a lease. Raises Refusal for a lease that has ended."""
    return job_of(connection, _open(connection, lease, by).job_id).request_id


def _own(connection: Connection[Any], lease: UUID, by: Caller) -> LeaseRow:
    lease_row = leases.lock_lease(connection, lease)
    if lease_row is None:
        raise not_found("lease", str(lease))
    refuse_foreign_lease(by, lease_row)
    return lease_row


def _open(connection: Connection[Any], lease: UUID, by: Caller) -> LeaseRow:
    lease_row = _own(connection, lease, by)
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
    """Events (number, kind, data, time) of a job under way; each number of a lease is kept once."""
    lease_row = _open(connection, lease, by)
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
    """Ends a lease and answers the job's state. Done twice with the same outcome, it answers the same. Raises Refusal."""
    lease_row = _own(connection, lease, by)
    if lease_row.ended is not None and lease_row.outcome == outcome:
        return job_of(connection, lease_row.job_id).state
    lease_row = _open(connection, lease, by)
    if outcome == "done" and run is None:
        raise Refusal(422, "no run", "a job that is done has a run: name the one that was uploaded for it")
    run_id = None if run is None else _own_run(connection, lease_row, run)
    hosts.see_host(connection, lease_row.host_id, now)
    return _end(connection, lease_row, outcome, reason, run_id, now)


def _own_run(connection: Connection[Any], lease: LeaseRow, run: str) -> int:
    """The run's number, if this host made it for this job. Raises Refusal."""
    row = runs.run_row(connection, run)
    if row is None:
        raise Refusal(409, "run not here", f"run {run} is not uploaded yet: upload it, then complete the job")
    of_job = row.lease_id is not None and leases.job_of_lease(connection, row.lease_id) == lease.job_id
    if not of_job or row.host_id != lease.host_id:
        raise Refusal(
            409,
            "another job's run",
            f"run {run} was not made by host {lease.host} for job {lease.job_id}: name the one that it uploaded with `job`",
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
    """What becomes of a job: a result is one, whoever's fault it is; a host's fault sends it to another host, twice; a host that
    went offline to any, a few times. Who gives it back before it began may have it again, once it is fit.
    """
    leases.end_lease(connection, lease.id, outcome, reason, now)
    job = queue.lock_job(connection, lease.job_id)
    assert job is not None
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
    if state in ("failed", "cancelled"):  # a run that came is analysed first
        background.ask_advance(connection)
    return state


def expire(connection: Connection[Any], now: datetime) -> int:
    """Takes back the leases of hosts that went offline; how many. Their jobs go back to the queue, at their old position."""
    leases.regrant_future_leases(connection, now)
    expired = leases.expired_leases(connection, now)
    for lease in expired:
        reason = "the host went offline"
        _end(connection, lease, "expired", reason, None, now)
    return len(expired)


def keep_leases(connection: Connection[Any], length: timedelta, now: datetime) -> int:
    """Gives every open lease its time again, as a service does that was away: hosts could not reach it. How many."""
    return leases.renew_leases(connection, now + length)
