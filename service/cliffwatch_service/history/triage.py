"""What people say of regression reports: who, when, why."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_args

from psycopg import Connection

from cliffwatch_service.refusal import not_found
from cliffwatch_service.store import reports, tokens

State = Literal["new", "acknowledged", "expected", "fixed", "noise"]
STATES: tuple[State, ...] = get_args(State)
OPEN: tuple[State, ...] = ("new", "acknowledged")


def report_named(connection: Connection[Any], digest: str) -> Mapping[str, Any]:
    """Raises Refusal where there is none."""
    wanted = {"states": None, "digest": digest, "at": None, "id": None, "limit": 1}
    rows = reports.list_reports(connection, wanted)
    if not rows:
        raise not_found("regression report", digest)
    return rows[0]


def triage(
    connection: Connection[Any], digest: str, *, state: State, owner: str | None, note: str, by: str, now: datetime
) -> None:
    """Sets state and owner of a report and keeps who did. Raises Refusal."""
    report = report_named(connection, digest)
    reports.set_triage(connection, report["id"], state=state, owner=owner, note=note, by=by, now=now)
    detail = {"state": state, "owner": owner, "note": note}
    tokens.write_audit(connection, who=by, action="triage", what=digest, detail=detail, now=now)


def quality(connection: Connection[Any]) -> dict[str, Any]:
    """How good the reports are: the share of noise among those that somebody has judged; null while none is."""
    counts: dict[str, int] = {**dict.fromkeys(STATES, 0), **reports.report_quality(connection)}
    judged = sum(counts.values()) - counts["new"]
    return {"reports": counts, "judged": judged, "noise": counts["noise"] / judged if judged else None}
