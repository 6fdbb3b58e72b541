"""The pages of hosts: current jobs, doctor findings, stale platforms, and a host's base vs base checks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from cliffwatch.formats.calibration import CalibrationDocument
from cliffwatch.formats.reading import convert
from cliffwatch_service.history.published_results import Reference
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.ingest.free_form import make_showable
from cliffwatch_service.jobs.alarms import alarms, alarms_of_hosts, offline_hosts
from cliffwatch_service.jobs.quarantine import sentence_of
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import follows, overview
from cliffwatch_service.store.history.points import PointRow
from cliffwatch_service.store.work import hosts, quarantines, queue
from cliffwatch_service.store.work.calibrations import calibrations_of
from cliffwatch_service.store.work.hosts import HostAtWorkRow, HostCheckRow
from cliffwatch_service.web.layout.drawing import STEP, History, history
from cliffwatch_service.web.layout.render import page, picture
from cliffwatch_service.web.layout.session import ReaderHere

router = APIRouter()

_RUNS = 200
"""Newest runs of a host whose checks are drawn."""

HostName = Annotated[str, Path(max_length=300)]


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
    unfit: Sequence[tuple[str, str]]
    """Modes in which it takes no job, and why."""


def host_summary(host: HostAtWorkRow) -> HostSummary:
    """Reads a host's last report and why it gave back jobs."""
    unfit = make_showable(host.unfit)
    return replace(
        doctor_summary(make_showable(host.about)),
        unfit=[(mode, str(reason)) for mode, reason in sorted(unfit.items())],
    )


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
    return HostSummary(", ".join(_texts(fields.get("modes"))), verdict, findings, ())


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
        hosts=[(host, host_summary(host)) for host in known],
        offline={host.name for host in offline_hosts(known, now)},
        targets=targets,
        jobs=jobs,
        alarms=[*alarms_of_hosts(known), *alarms(targets, entries, now)],
    )


@dataclass(frozen=True, slots=True)
class DrawnChecks:
    """The base vs base checks of a host over time."""

    rows: Sequence[HostCheckRow]
    """Oldest first."""
    points: Sequence[PointRow]
    """The largest difference of each check, in per cent."""
    drawn: History

    @property
    def marked(self) -> int:
        """Checks in which the method would have published a change."""
        return sum(row.published > 0 for row in self.rows)


def draw_checks(rows: Sequence[HostCheckRow]) -> DrawnChecks | None:
    if not rows:
        return None
    points = [
        PointRow(None, row.head, None, row.n, 100 * row.largest, None, None, row.epoch, row.run, row.at, None)
        for row in rows
    ]
    threshold = 100 * rows[-1].notable
    drawn = history(
        points,
        [(point.centre, None, None) for point in points],
        "%",
        frame=STEP,
        references=[Reference(f"threshold {threshold:.3g} %", threshold, None)],
        within=(0.0,),
    )
    return DrawnChecks(rows, points, drawn)


@router.get("/hosts/{name:path}.svg")
def draw_host(
    name: HostName,
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,  # noqa: ARG001 - admits whoever may read
) -> Response:
    """Draws the largest difference of each base vs base check of a host's newest runs."""
    with service.transaction() as connection:
        checks = draw_checks(hosts.checks_of_host(connection, name, _RUNS))
    if checks is None:
        raise Refusal(404, "no check", "no run of such a host has a base vs base check: see /hosts")
    return picture(request, "work/checks.svg", name=name, checks=checks)


@router.get("/hosts/{name:path}")
def show_host(name: HostName, request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    with service.transaction() as connection:
        known = hosts.list_hosts(connection)
        host = next((each for each in known if each.name == name), None)
        if host is None:
            raise not_found("host", name)
        checks = draw_checks(hosts.checks_of_host(connection, name, _RUNS))
        number = hosts.host_id(connection, name)
        calibrated = calibrations_of(connection, name, 1)
        quarantine = None if number is None else quarantines.newest_quarantine(connection, number)
    return page(
        request,
        visitor,
        "work/host.html",
        host=host,
        summary=host_summary(host),
        offline=host in offline_hosts(known, service.now()),
        checks=checks,
        quarantine=quarantine,
        calibration=convert(calibrated[0].document, CalibrationDocument) if calibrated else None,
        calibrated=calibrated[0] if calibrated else None,
        quarantined=None if host.quarantined_since is None or quarantine is None else sentence_of(quarantine),
    )
