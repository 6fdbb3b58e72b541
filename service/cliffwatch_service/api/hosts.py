"""Hosts: what they do, and their side of every job."""

from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from cliffwatch_service.access import Caller, refuse_other_host
from cliffwatch_service.api import models, work_models
from cliffwatch_service.api.answers import answer
from cliffwatch_service.dispatch import Offer, Outcome, complete, heartbeat, offer, tell
from cliffwatch_service.http.context import Reader, Service, ServiceHere, Worker
from cliffwatch_service.store import queue
from cliffwatch_service.uploads import Count, Name

router = APIRouter(tags=["hosts"])


class OfferBody(BaseModel):
    """A host that wants work. `about` is what the hosts' page shows of it, its doctor's findings among that."""

    model_config = ConfigDict(extra="forbid")

    host: Name
    platform: Name
    modes: Annotated[list[Literal["walltime", "icount"]], Field(min_length=1, max_length=2)]
    isolation: Literal["bubblewrap", "container", "none"]
    about: Annotated[dict[str, Any], Field(max_length=50)] = {}


class EventBody(BaseModel):
    """`number` counts within the lease, so that an event that is sent twice is kept once."""

    model_config = ConfigDict(extra="forbid")

    number: Count
    kind: Annotated[str, StringConstraints(pattern="^[a-z][a-z-]{0,40}$")]
    at: AwareDatetime
    data: Annotated[dict[str, Any], Field(max_length=50)] = {}


class EventsBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    events: Annotated[list[EventBody], Field(max_length=1000)]


class CompleteBody(BaseModel):
    """How a job ended; `run` is what was uploaded."""

    model_config = ConfigDict(extra="forbid")

    outcome: Outcome
    reason: Annotated[str, StringConstraints(max_length=8000)] | None = None
    run: Annotated[str, StringConstraints(pattern="^[0-9a-f]{32}$")] | None = None


@router.get(
    "/hosts",
    summary="Hosts, when they were last heard of and what they do",
    responses={200: {"model": models.Page[work_models.Host]}},
)
def list_hosts(request: Request, service: ServiceHere, _: Reader) -> Response:
    with service.transaction() as connection:
        found = queue.list_hosts(connection)
    return answer(request, {"items": found, "next": None})


@router.post(
    "/offers",
    summary="Offer to work: answers a lease and its job, or 204",
    responses={200: {"model": work_models.Work}, 204: {"description": "Nothing to do"}},
)
def make_offer(body: OfferBody, request: Request, service: ServiceHere, caller: Worker) -> Response:
    refuse_other_host(caller, body.host)
    offered = Offer(
        host=body.host, platform=body.platform, modes=body.modes, isolation=body.isolation, about=body.about
    )
    with service.transaction() as connection:
        found = offer(connection, offered, lease_for=_length(service), now=service.now())
    if found is None:
        return Response(status_code=204)
    lease, job = found
    content = {
        "lease": str(lease),
        "job": str(job["id"]),
        "heartbeat_seconds": service.settings.lease_seconds / 3,
        "cancel": job["cancel"],
        **{name: job[name] for name in ("tree", "platform", "mode", "suites", "profile", "boots", "seed")},
        "base": job["base_commit"],
        "head": job["head_commit"],
    }
    return answer(request, content)


def _length(service: Service) -> timedelta:
    return timedelta(seconds=service.settings.lease_seconds)


@router.post(
    "/leases/{lease}/heartbeat",
    summary="Keep a lease; says whether the job is to be cancelled",
    responses={200: {"model": work_models.Beat}},
)
def beat(lease: UUID, request: Request, service: ServiceHere, caller: Worker) -> Response:
    with service.transaction() as connection:
        _refuse_foreign(connection, lease, caller)
        cancelled = heartbeat(connection, lease, lease_for=_length(service), now=service.now())
    return answer(request, {"cancel": cancelled})


@router.post("/leases/{lease}/events", summary="Tell how a job goes", responses={200: {"model": work_models.Kept}})
def tell_events(lease: UUID, body: EventsBody, request: Request, service: ServiceHere, caller: Worker) -> Response:
    with service.transaction() as connection:
        _refuse_foreign(connection, lease, caller)
        tell(connection, lease, [(each.number, each.kind, each.data, each.at) for each in body.events])
    return answer(request, {"kept": len(body.events)})


@router.post("/leases/{lease}/complete", summary="End a job", responses={200: {"model": work_models.JobState}})
def end_job(lease: UUID, body: CompleteBody, request: Request, service: ServiceHere, caller: Worker) -> Response:
    with service.transaction() as connection:
        _refuse_foreign(connection, lease, caller)
        state = complete(connection, lease, outcome=body.outcome, reason=body.reason, run=body.run, now=service.now())
    return answer(request, {"state": state})


def _refuse_foreign(connection: Any, lease: UUID, caller: Caller) -> None:
    if caller.host is None:
        return
    held = queue.lock_lease(connection, lease)
    if held is not None:
        refuse_other_host(caller, held["host"])
