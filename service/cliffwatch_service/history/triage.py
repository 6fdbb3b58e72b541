"""Triage of regression reports: people set their state and owner, with a note."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args

from psycopg import Connection

from cliffwatch_service.history.news.writing import write_news
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import tokens
from cliffwatch_service.store.history import reports
from cliffwatch_service.store.history.news import fixes
from cliffwatch_service.store.history.news.fixes import FixRow
from cliffwatch_service.store.history.reports import ReportRow, ReportState, ReportsWanted

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")

STATES: tuple[ReportState, ...] = get_args(ReportState)
OPEN: tuple[ReportState, ...] = ("new", "acknowledged")


def find_report(connection: Connection[Any], digest: str) -> ReportRow:
    """Returns a report by its digest. Raises Refusal if there is none."""
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
    fix: str | None = None,
) -> None:
    """Sets the state and owner of a report, and records who did so, when and why.

    `fix` is the commit that fixed it. Raises Refusal if there is no such report, if `fix` is not a full
    commit hash, or if it is given for a state other than `fixed`.
    """
    if fix is not None and (state != "fixed" or not _COMMIT.fullmatch(fix)):
        raise Refusal(
            422,
            "no fixing commit",
            "the fix of a report whose state is `fixed` is a commit: give all of its digits",
        )
    report = find_report(connection, digest)
    reports.set_triage(connection, report.id, state=state, owner=owner, note=note, by=by, now=now)
    _keep_fix(connection, report, state, fix, by, now)
    detail = {"state": state, "owner": owner, "note": note, "fix": fix}
    tokens.write_audit(connection, who=by, action="triage", what=digest, detail=detail, now=now)
    write_news(connection, now)


def _keep_fix(
    connection: Connection[Any],
    report: ReportRow,
    state: ReportState,
    fix: str | None,
    by: str,
    now: datetime,
) -> None:
    """Stores the fix of a report.

    If a person reopens a report that measurements closed, records that its commit is not the fix.
    """
    known = fixes.fix_of(connection, report.id)
    if fix is not None:
        row = FixRow(commit=fix, base=None, by=by, at=now, verified=False)
        fixes.keep_fix(connection, report.id, row)
    elif known is not None and known.verified and state in OPEN:
        fixes.keep_fix(connection, report.id, replace(known, by=by, at=now, verified=False))
