"""Lets people cancel jobs and put them back into the queue."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection

from cliffwatch_service.access.authorisation import refuse_foreign_request
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.jobs.leases import job_of
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import tokens
from cliffwatch_service.store.work import queue
from cliffwatch_service.store.work.queue import JobState


def cancel(connection: Connection[Any], identity: UUID, *, by: Caller, now: datetime) -> JobState:
    """Cancels a job and returns its state. Raises Refusal.

    The host of a running job learns of it with its next heartbeat.
    """
    who = by.name
    job = queue.lock_job(connection, identity)
    if job is None:
        raise not_found("job", str(identity))
    refuse_foreign_request(by, job_of(connection, identity).asked_by)
    tokens.write_audit(
        connection, who=who, action="cancel", what=str(identity), detail={"state": job.state}, now=now
    )
    if job.state in ("queued", "parked"):
        queue.set_job(
            connection,
            identity,
            "cancelled",
            whose=None,
            reason=f"cancelled by {who}",
            failed_hosts=job.failed_hosts,
            run_id=None,
            ended=now,
        )
        queue.write_own_event(connection, identity, "cancelled", {"by": who}, now)
        return "cancelled"
    if job.state == "leased":
        queue.ask_cancel(connection, identity)
        queue.write_own_event(connection, identity, "cancelling", {"by": who}, now)
    return job.state


def retry(connection: Connection[Any], identity: UUID, *, who: str, now: datetime) -> JobState:
    """Puts a parked, failed or cancelled job back into the queue, open to all hosts. Raises Refusal."""
    job = queue.lock_job(connection, identity)
    if job is None:
        raise not_found("job", str(identity))
    if job.state not in ("parked", "failed", "cancelled"):
        raise Refusal(
            409,
            "nothing to retry",
            f"the job is {job.state}: only parked, failed and cancelled jobs can be retried",
        )
    queue.reopen_job(connection, identity)
    queue.write_own_event(connection, identity, "queued", {"by": who}, now)
    tokens.write_audit(
        connection, who=who, action="retry", what=str(identity), detail={"state": job.state}, now=now
    )
    return "queued"
