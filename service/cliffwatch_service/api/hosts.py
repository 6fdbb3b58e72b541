"""Endpoints for hosts: their list, and their side of jobs and leases."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from cliffwatch.formats.calibration import CalibrationDocument
from cliffwatch.formats.reading import as_json, convert_to
from cliffwatch.formats.values import FreeJson
from cliffwatch.formats.work import AskedFiles, Heartbeat, JobOutcome, Work
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import MODES, Mode
from cliffwatch_service.api.answers import answer
from cliffwatch_service.api.documents import body_of, document_response, parse_document, request_body
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.api.models.work import JobState, Kept
from cliffwatch_service.http.context import PREFIX, Allowed, Service, ServiceHere
from cliffwatch_service.http.problems import problem_response
from cliffwatch_service.ingest.free_form import FreeForm, Moment, Prose, make_showable
from cliffwatch_service.ingest.request_fields import Count, Name
from cliffwatch_service.ingest.uploads import invalid_upload
from cliffwatch_service.jobs import quarantine
from cliffwatch_service.jobs.calibrating import host_to_calibrate, keep_calibration
from cliffwatch_service.jobs.leases import Offer, add_events, complete, heartbeat, offer, request_of_lease
from cliffwatch_service.jobs.quarantine import refusal_of
from cliffwatch_service.jobs.requests import asked_files, setup_of
from cliffwatch_service.jobs.trees_allowed import access_of
from cliffwatch_service.refusal import not_found
from cliffwatch_service.store.work import hosts
from cliffwatch_service.store.work.calibrations import CalibrationRow, calibrations_of
from cliffwatch_service.store.work.hosts import HostAtWorkRow
from cliffwatch_service.store.work.quarantines import QuarantineRow
from cliffwatch_service.store.work.queue import HostAbilities

router = APIRouter(prefix=PREFIX, tags=["hosts"])

_CALIBRATIONS = 20
"""Newest calibrations of a host that are listed."""


class OfferBody(BaseModel):
    """A host that wants work.

    - `setups`: whether it takes jobs with a setup.
    - `build_images`: images that it can build in.
    - `cpus`: number of its CPUs; null if unknown.
    - `about`: facts for the hosts' page, such as the findings of `cliffwatch doctor`.
    """

    model_config = ConfigDict(extra="forbid")

    host: Name
    platform: Name
    modes: Annotated[list[Mode], Field(min_length=1, max_length=len(MODES))]
    isolation: Literal["bubblewrap", "container", "none"]
    setups: bool = False
    build_images: Annotated[list[Name], Field(max_length=50)] = []
    cpus: Annotated[int, Field(ge=1, le=1 << 20)] | None = None
    about: Annotated[FreeForm, Field(max_length=50)] = {}


class EventBody(BaseModel):
    """An event of a job. `number` counts within the lease, so an event that is sent twice is stored once."""

    model_config = ConfigDict(extra="forbid")

    number: Count
    kind: Annotated[str, StringConstraints(pattern="^[a-z][a-z-]{0,40}$")]
    at: Moment
    data: Annotated[FreeForm, Field(max_length=50)] = {}


class EventsBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    events: Annotated[list[EventBody], Field(max_length=1000)]


class CompleteBody(BaseModel):
    """The end of a job. `run` is the digest of the uploaded run; null if there is none."""

    model_config = ConfigDict(extra="forbid")

    outcome: JobOutcome
    reason: Annotated[Prose, StringConstraints(max_length=8000)] | None = None
    run: Annotated[str, StringConstraints(pattern="^[0-9a-f]{32}$")] | None = None


@router.get(
    "/hosts",
    summary="Hosts, when they were last seen and their jobs",
    responses={200: {"model": Page[HostAtWorkRow]}},
)
def list_hosts(request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        rows = hosts.list_hosts(connection)
    return answer(request, {"items": [_host(row) for row in rows], "next": None})


class QuarantineBody(BaseModel):
    """Whether a host gets no walltime job, and why."""

    model_config = ConfigDict(extra="forbid")

    quarantined: bool
    reason: Annotated[Prose, StringConstraints(min_length=1, max_length=1000)]


@router.post(
    "/hosts/{host}/quarantine",
    summary="Begin or end a host's quarantine, in which it gets no walltime job",
    responses={200: {"model": QuarantineRow}},
)
def set_quarantine(
    host: Name, body: QuarantineBody, request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    change = quarantine.begin if body.quarantined else quarantine.end
    with service.transaction() as connection:
        row = change(connection, host, body.reason, who=caller.name, now=service.now())
    return answer(request, row)


@router.post(
    "/hosts/{host}/calibrations",
    summary="Store a calibration of a host; one that passes ends its quarantine",
    openapi_extra=request_body(CalibrationDocument),
    responses={200: {"model": CalibrationRow}},
)
def add_calibration(
    host: Name,
    body: Annotated[bytes, Depends(body_of)],
    request: Request,
    service: ServiceHere,
    caller: Allowed,
) -> Response:
    _, document = parse_document(_calibration, body)
    with service.transaction() as connection:
        row = keep_calibration(connection, host, document, by=caller, now=service.now())
    return answer(request, row)


class CalibrationTarget(BaseModel):
    """Platform and mode of a calibration that is to be made."""

    model_config = ConfigDict(extra="forbid")

    platform: Name
    mode: Mode


@router.post(
    "/hosts/{host}/calibrations/check",
    summary="Refuse what storing a host's calibration would refuse, before one is measured",
    responses={200: {"model": CalibrationTarget}},
)
def check_calibration(
    host: Name, body: CalibrationTarget, request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    with service.transaction() as connection:
        host_to_calibrate(connection, host, body.platform, body.mode, by=caller, now=service.now())
    return answer(request, body.model_dump())


def _calibration(raw: FreeJson) -> CalibrationDocument:
    document = convert_to(raw, CalibrationDocument)
    if isinstance(document, Problem):
        raise invalid_upload(document)
    return document


@router.get(
    "/hosts/{host}/calibrations",
    summary="Newest calibrations of a host, newest first",
    responses={200: {"model": Page[CalibrationRow]}},
)
def list_calibrations(host: Name, request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        if hosts.host_id(connection, host) is None:
            raise not_found("host", host)
        rows = calibrations_of(connection, host, _CALIBRATIONS)
    return answer(request, {"items": rows, "next": None})


def _host(row: HostAtWorkRow) -> HostAtWorkRow:
    """Makes a host's free-form facts safe to show."""
    return replace(row, about=make_showable(row.about), unfit=make_showable(row.unfit))


@router.post(
    "/offers",
    summary="Offer a host for work; returns a lease with its job, 204, or 423 in quarantine",
    responses={**document_response(Work), 204: {"description": "Nothing to do"}},
)
def make_offer(body: OfferBody, request: Request, service: ServiceHere, caller: Allowed) -> Response:
    offered = Offer(
        host=body.host,
        platform=body.platform,
        modes=body.modes,
        isolation=body.isolation,
        abilities=HostAbilities(setups=body.setups, build_images=body.build_images, cpus=body.cpus),
        about=body.about,
    )
    with service.transaction() as connection:
        granted = offer(connection, offered, by=caller, lease_for=_length(service), now=service.now())
        if granted is None:
            return Response(status_code=204)
        if isinstance(granted, QuarantineRow):
            return problem_response(refusal_of(granted))  # not raised: the host was seen
        job = granted.job
        access = access_of(connection, job.tree, service.settings.trees)
    work = Work(
        lease=str(granted.lease),
        job=str(job.id),
        trust=granted.trust,
        heartbeat_seconds=service.settings.lease_seconds / 3,
        cancel=job.cancel,
        tree=job.tree,
        platform=job.platform,
        mode=job.mode,
        suites=tuple(job.suites),
        profile=job.profile,
        boots=job.boots,
        seed=job.seed,
        tree_access=access,
        base=job.base_commit,
        head=job.head_commit,
        setup=setup_of(job.setup),
    )
    return answer(request, as_json(work))


def _length(service: Service) -> timedelta:
    return timedelta(seconds=service.settings.lease_seconds)


@router.post(
    "/leases/{lease}/heartbeat",
    summary="Renew a lease; returns whether to cancel the job",
    responses=document_response(Heartbeat),
)
def renew_lease(lease: UUID, request: Request, service: ServiceHere, caller: Allowed) -> Response:
    with service.transaction() as connection:
        cancelled = heartbeat(connection, lease, by=caller, lease_for=_length(service), now=service.now())
    return answer(request, as_json(Heartbeat(cancel=cancelled)))


@router.get(
    "/leases/{lease}/files",
    summary="Files that came with the request of a lease's job",
    responses=document_response(AskedFiles),
)
def read_lease_files(lease: UUID, request: Request, service: ServiceHere, caller: Allowed) -> Response:
    with service.transaction() as connection:
        files = asked_files(connection, request_of_lease(connection, lease, by=caller))
    return answer(request, as_json(files))


@router.post("/leases/{lease}/events", summary="Add events of a job", responses={200: {"model": Kept}})
def keep_events(
    lease: UUID, body: EventsBody, request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    with service.transaction() as connection:
        add_events(
            connection,
            lease,
            [(each.number, each.kind, each.data, each.at) for each in body.events],
            by=caller,
        )
    return answer(request, {"kept": len(body.events)})


@router.post("/leases/{lease}/complete", summary="End a job", responses={200: {"model": JobState}})
def end_job(
    lease: UUID, body: CompleteBody, request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    with service.transaction() as connection:
        state = complete(
            connection,
            lease,
            outcome=body.outcome,
            reason=body.reason,
            run=body.run,
            by=caller,
            now=service.now(),
        )
    return answer(request, {"state": state})
