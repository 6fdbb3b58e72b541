"""Looks for steps: what comparisons of neighbours show at once, and what only the history of a branch shows."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import numpy as np
from psycopg import Connection

from cliffwatch.comparing.comparison import CHANGES
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.identities import digest_of
from cliffwatch.stats.history.steps import Step, candidates
from cliffwatch.stats.history.watch import HORIZON, NEAR
from cliffwatch_service.store import comparisons, run_arms, runs, trees
from cliffwatch_service.store.comparisons import StoredComparison, VerdictRow
from cliffwatch_service.store.history import ancestry, points, reports
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.changes import ChangeFacts, ChangeKind
from cliffwatch_service.store.history.points import RecentPointRow


def take_changes(connection: Connection[Any], comparison_id: int, now: datetime) -> int:
    """The changes that a comparison publishes, gathered under the report of their culprit; how many there are.

    Only of runs of history: what anybody uploads says nothing in public. Only where base is an ancestor of head: a difference
    between cousins has no culprit. A change that a fuller comparison of the same two revisions no longer shows is refuted,
    not removed.
    """
    if not comparisons.is_of_history(connection, comparison_id):
        return 0
    comparison = comparisons.comparison_by_id(connection, comparison_id)
    assert comparison is not None
    base, head = comparison.base_revision_id, comparison.head_revision_id
    published = [row for row in comparisons.verdicts_of(connection, comparison_id) if row.verdict in CHANGES]
    if base == head or not ancestry.is_ancestor(connection, base, head):
        return 0
    digests = {_change_digest(row.series_id, base, head) for row in published}
    known = stored_changes.changes_of_comparison(connection, comparison_id)
    stored_changes.refute_changes(connection, [row.id for row in known if row.digest not in digests])
    if not published:
        return 0
    worse = any(row.verdict == "regression" for row in published)
    report = _report(connection, base, head, now) if worse else None
    stored_changes.keep_changes(connection, [_confirmed(comparison, row, report) for row in published], now)
    return len(published)


_KINDS: Mapping[Verdict, ChangeKind] = {
    "regression": "regression",
    "improvement": "improvement",
    "changed": "changed",
}


def _confirmed(comparison: StoredComparison, row: VerdictRow, report_id: int | None) -> ChangeFacts:
    assert row.change is not None
    base, head = comparison.base_revision_id, comparison.head_revision_id
    return ChangeFacts(
        digest=_change_digest(row.series_id, base, head),
        series_id=row.series_id,
        base_revision_id=base,
        head_revision_id=head,
        state="confirmed",
        kind=_KINDS[row.verdict],
        size=row.change,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        comparison_id=comparison.id,
        report_id=report_id,
    )


def _change_digest(series_id: int, base: int, head: int) -> str:
    return digest_of(["change", series_id, base, head])


def _report(connection: Connection[Any], base: int, head: int, now: datetime) -> int:
    commits = trees.revision_rows(connection, [base, head])
    digest = digest_of(["report", commits[base].commit, commits[head].commit])
    return reports.keep_report(connection, digest, base, head, now)


def branches_with(connection: Connection[Any], run: str) -> list[int]:
    """The branches on which a revision of this run lies, if the run is one of their history."""
    row = runs.run_row(connection, run)
    assert row is not None
    if not row.of_history:
        return []
    arms = run_arms.arms_of(connection, row.id)
    return trees.branches_of(connection, [arm.revision_id for arm in arms if arm.revision_id is not None])


def watch_branch(connection: Connection[Any], branch_id: int, now: datetime) -> int:
    """Steps in the newest points of every series of a branch that was measured since; how many candidates are new.

    A candidate is no regression yet: a fresh comparison of its two revisions confirms or refutes it.
    """
    count = 0
    rows = points.recent_points(connection, branch_id, HORIZON)
    for series_id, group in groupby(rows, key=lambda row: row.series_id):
        own = _newest_epoch(list(group))
        known = stored_changes.change_ordinals(connection, series_id, branch_id)
        fresh = [_row(series_id, own, step) for step in _steps(own) if not _known(own, step, known)]
        stored_changes.keep_changes(connection, fresh, now)
        count += len(fresh)
    return count


def _newest_epoch(points: Sequence[RecentPointRow]) -> list[RecentPointRow]:
    """The points, oldest first, since conditions last changed; one for each revision, the newest measurement."""
    newest = max(points, key=lambda row: row.ordinal).epoch
    by_ordinal: dict[int, RecentPointRow] = {}
    for row in sorted(points, key=lambda row: row.ordinal, reverse=True):
        if row.epoch != newest:
            break
        by_ordinal.setdefault(row.ordinal, row)
    return list(reversed(by_ordinal.values()))


def _steps(points: Sequence[RecentPointRow]) -> list[Step]:
    if any(row.centre <= 0 or not math.isfinite(row.centre) for row in points):
        return []
    return candidates(np.log([row.centre for row in points])) if points else []


def _known(points: Sequence[RecentPointRow], step: Step, known: Sequence[int]) -> bool:
    """Whether a change lies within a few measured revisions of it already."""
    near = points[max(0, step.index - NEAR) : step.index + NEAR + 1]
    return any(near[0].ordinal <= ordinal <= near[-1].ordinal for ordinal in known)


def _row(series_id: int, points: Sequence[RecentPointRow], step: Step) -> ChangeFacts:
    base, head = points[step.index - 1].revision_id, points[step.index].revision_id
    return ChangeFacts(
        digest=_change_digest(series_id, base, head),
        series_id=series_id,
        base_revision_id=base,
        head_revision_id=head,
        state="candidate",
        kind="step",
        size=step.size,
        ci_low=None,
        ci_high=None,
        comparison_id=None,
        report_id=None,
    )
