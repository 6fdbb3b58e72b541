"""What people say of regression reports: who, when, why."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from psycopg import Connection

from cliffwatch_service.refusal import not_found
from cliffwatch_service.store import tokens
from cliffwatch_service.store.history import reports
from cliffwatch_service.store.history.reports import ReportRow, ReportState, ReportsWanted

STATES: tuple[ReportState, ...] = get_args(ReportState)
OPEN: tuple[ReportState, ...] = ("new", "acknowledged")


def report_named(connection: Connection[Any], digest: str) -> ReportRow:
    """Raises Refusal where there is none."""
    rows = reports.list_reports(connection, ReportsWanted(digest=digest, limit=1))
    if not rows:
        raise not_found("regression report", digest)
    return rows[0]


def triage(
    connection: Connection[Any],
    digest: str,
    *,
    state: ReportState,
    owner: str | None,
    note: str,
    by: str,
    now: datetime,
) -> None:
    """Sets state and owner of a report and keeps who did. Raises Refusal."""
    report = report_named(connection, digest)
    reports.set_triage(connection, report.id, state=state, owner=owner, note=note, by=by, now=now)
    detail = {"state": state, "owner": owner, "note": note}
    tokens.write_audit(connection, who=by, action="triage", what=digest, detail=detail, now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQuality:
    """How many reports there are in each state, and the share of noise among those that somebody has judged, None while none is."""

    reports: dict[ReportState, int]
    judged: int
    noise: float | None


def quality(connection: Connection[Any]) -> ReportQuality:
    counts = dict.fromkeys(STATES, 0) | reports.report_quality(connection)
    judged = sum(counts.values()) - counts["new"]
    return ReportQuality(reports=counts, judged=judged, noise=counts["noise"] / judged if judged else None)
