"""The home page: followed branches, open regression reports, running jobs and stale targets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from psycopg import Connection

from cliffwatch.comparing.ordering import Standing, standing
from cliffwatch_service.compare.naming import find_revision
from cliffwatch_service.history.report_summary import largest_changes, tally
from cliffwatch_service.history.triage import OPEN
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.jobs.alarms import alarms, alarms_of_hosts, offline_hosts
from cliffwatch_service.jobs.staleness import stale_targets
from cliffwatch_service.store import follows, overview, runs, series
from cliffwatch_service.store.follows import FollowRow
from cliffwatch_service.store.history import ancestry, reports
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.news import outbox
from cliffwatch_service.store.history.reports import ReportsWanted
from cliffwatch_service.store.overview import StripRow
from cliffwatch_service.store.runs import RunsWanted
from cliffwatch_service.store.work import hosts, queue
from cliffwatch_service.web.history.pictures import draw_sparks
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere
from cliffwatch_service.web.layout.wording import verdict_words

CELLS = 30
"""Number of revisions in a branch's strip."""

_MOST_COUNTED = 1000
"""Runs that are counted."""

_DAY = timedelta(days=1)

router = APIRouter()


@dataclass(frozen=True, slots=True)
class StripCell:
    """A revision on one target."""

    commit: str
    base: str | None
    """Commit it was compared with; None if it was not compared."""
    kind: str
    """CSS class."""
    sign: str
    """One character; empty if the revision was not compared."""
    words: str
    """Commit, subject and counts of verdicts, as a tooltip and for screen readers."""


@dataclass(frozen=True, slots=True)
class BranchStrip:
    """A branch on one target."""

    platform: str
    mode: str
    cells: Sequence[StripCell]
    """Oldest revision first: time runs from left to right on every page."""


@dataclass(frozen=True, slots=True)
class FollowedBranch:
    """A followed branch with its strips."""

    tree: str
    branch: str
    policy: str
    problem: str | None
    """Why the last look failed; None if it did not."""
    strips: Sequence[BranchStrip]
    """One per target."""
    revisions: int
    """Number of revisions in each strip."""


@router.get("/")
def home(request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    now = service.now()
    with service.transaction() as connection:
        entries = follows.list_follows(connection)
        followed = [_followed_branch(connection, row) for row in entries]
        inbox = reports.list_reports(connection, ReportsWanted(states=OPEN, limit=8))
        changes = stored_changes.changes_of_reports(connection, [report.digest for report in inbox])
        leading = {digest: largest_changes(of_report, 1) for digest, of_report in changes.items()}
        sparks = draw_sparks(connection, list(leading.values()))
        open_reports = reports.count_reports(connection, OPEN)
        jobs = queue.queue_of(connection, 200)
        known_hosts = hosts.list_hosts(connection)
        targets = overview.list_targets(connection)
        stale = stale_targets(connection, now)
        fresh = outbox.reports_with(connection, ("new",), now - _DAY)
        fixed = outbox.reports_with(connection, ("fixed",), now - _DAY)
        recent = runs.list_runs(connection, RunsWanted(of_history=True if entries else None, limit=6))
        more = runs.count_runs(connection, _MOST_COUNTED) - len(recent)
    return page(
        request,
        visitor,
        "home.html",
        followed=followed,
        inbox=inbox,
        open_reports=open_reports,
        leading=leading,
        sparks=sparks,
        tallies={digest: tally(of_report) for digest, of_report in changes.items()},
        running=[job for job in jobs if job.state == "leased"],
        waiting=sum(job.state == "queued" for job in jobs),
        offline_hosts=offline_hosts(known_hosts, now),
        alarms=[*alarms_of_hosts(known_hosts), *alarms(targets, entries, now, stale)],
        recent=recent,
        more=more,
        uncounted=more == _MOST_COUNTED - len(recent),
        fresh=fresh,
        fixed=fixed,
    )


def _followed_branch(connection: Connection[Any], row: FollowRow) -> FollowedBranch:
    rows = list(reversed(overview.strip_of(connection, row.branch_id, CELLS)))
    revisions = [next(group) for _, group in groupby(rows, key=lambda each: each.ordinal)]
    targets = [(target[0], target[1]) for target in row.targets]
    targets += sorted(
        {(each.platform, each.mode) for each in rows if each.platform and each.mode} - set(targets)
    )
    compared = {(each.commit, each.platform, each.mode): each for each in rows}
    strips = [
        BranchStrip(
            platform,
            mode,
            [_cell(revision, compared.get((revision.commit, platform, mode))) for revision in revisions],
        )
        for platform, mode in targets
    ]
    return FollowedBranch(row.tree, row.branch, row.policy, row.problem, strips, len(revisions))


def _cell(revision: StripRow, compared: StripRow | None) -> StripCell:
    commit, subject = revision.commit, revision.subject or ""
    if compared is None or compared.counts is None:
        return StripCell(commit, None, "none", "", f"{commit[:12]} {subject}: not compared")
    counts = compared.counts
    kind, sign = _STANDINGS[standing(counts)]
    words = verdict_words(counts) or "nothing compared"
    return StripCell(commit, compared.base, kind, sign, f"{commit[:12]} {subject}: {words}")


_STANDINGS: Mapping[Standing, tuple[str, str]] = {
    "both": ("both", "◆"),
    "regression": ("worse", "▲"),
    "trouble": ("trouble", "✕"),
    "changed": ("changed", "≠"),
    "improvement": ("better", "▼"),
    "unchanged": ("same", "·"),
    "inconclusive": ("inconclusive", "?"),
}
"""CSS class and sign of a revision, by the standing of all its verdicts."""


@router.get("/revisions/{commit:path}")
def show_revision(
    commit: Annotated[str, Path(max_length=200)], request: Request, service: ServiceHere, visitor: ReaderHere
) -> Response:
    """Shows where a revision was measured and what it can be compared with."""
    with service.transaction() as connection:
        row = find_revision(connection, commit)
        recent = runs.list_runs(connection, RunsWanted(revision=row.id, limit=50))
        measured = series.targets_measured(connection, row.id)
        comparable = any(
            ancestry.measured_ancestor(connection, row.id, each.platform, each.mode) for each in measured
        )
        branches = overview.branches_of_revision(connection, row.id)
        neighbours = ancestry.measured_neighbours(connection, row.id)
    return page(
        request,
        visitor,
        "revision.html",
        revision=row,
        measured=measured,
        comparable=comparable,
        branches=branches,
        neighbours=neighbours,
        runs=recent,
    )
