"""The page of hosts: current jobs, when each was last seen, doctor findings and stale platforms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.ingest.free_form import make_showable
from cliffwatch_service.jobs.alarms import alarms, offline_hosts
from cliffwatch_service.store import follows, overview
from cliffwatch_service.store.work import hosts, queue
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one doctor check."""

    name: str
    status: str
    value: str
    fix: str


@dataclass(frozen=True, slots=True)
class HostSummary:
    """A host's last report about itself. Unreadable parts are dropped, because a host may send anything."""

    modes: str
    """Comma-separated."""
    verdict: str | None
    """None if the host sent no doctor report."""
    findings: Sequence[Finding]


def doctor_summary(about: Any) -> HostSummary:
    """Reads a host's last report. Workers before 2026-11-24 sent `found` and `mend`."""
    fields = about if isinstance(about, dict) else {}
    doctor = fields.get("doctor")
    checks = doctor.get("checks") if isinstance(doctor, dict) else None
    findings = [
        Finding(
            name=str(check.get("name", "")),
            status=str(check.get("status", "")),
            value=str(check.get("finding", check.get("found", ""))),
            fix="; ".join(_texts(check.get("fixes", check.get("mend")))),
        )
        for check in (checks if isinstance(checks, list) else [])
        if isinstance(check, dict)
    ]
    verdict = str(doctor.get("verdict", "")) if isinstance(doctor, dict) else None
    return HostSummary(", ".join(_texts(fields.get("modes"))), verdict, findings)


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


@router.get("/hosts")
def show_hosts(request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    now = service.now()
    with service.transaction() as connection:
        known = hosts.list_hosts(connection)
        targets = overview.list_targets(connection)
        entries = follows.list_follows(connection)
        jobs = {job.id: job for job in queue.queue_of(connection, 1000)}
    return page(
        request,
        visitor,
        "work/hosts.html",
        hosts=[(host, doctor_summary(make_showable(host.about))) for host in known],
        offline={host.name for host in offline_hosts(known, now)},
        targets=targets,
        jobs=jobs,
        alarms=alarms(targets, entries, now),
    )
