"""Stores the changes that comparisons show, and adds them to the reports of their culprits."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch.comparing.comparison import CHANGES, took_turns
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.identities import digest_of
from cliffwatch_service.compare.stored import read_summary
from cliffwatch_service.history.ranges.reporting import report_changes
from cliffwatch_service.store import comparisons, database, run_arms, runs, trees
from cliffwatch_service.store.comparisons import StoredComparison, VerdictRow
from cliffwatch_service.store.history import ancestry, confirmations
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.changes import ChangeFacts, ChangeKind


def take_changes(connection: Connection[Any], comparison_id: int, now: datetime) -> int:
    """Stores the changes that a comparison shows, and adds them to the report of their culprit.

    Returns the number of changes.

    - Only runs of a branch's history count. Anybody may upload a run, so other runs publish nothing.
    - Base must be an ancestor of head: a difference between two lines of history has no culprit.
    - If a fuller comparison of the same two revisions no longer shows a change, the change is refuted, not
      removed.
    - If changes of narrower ranges explain a change, it is superseded, in whichever order they come.
    """
    if not comparisons.is_of_history(connection, comparison_id):
        return 0
    comparison = comparisons.comparison_by_id(connection, comparison_id)
    assert comparison is not None
    base, head = comparison.base_revision_id, comparison.head_revision_id
    published = [
        row
        for row in comparisons.verdicts_of(connection, comparison_id)
        if row.verdict in CHANGES and (row.change is not None or None not in (row.base_value, row.head_value))
    ]
    if base == head or not ancestry.is_ancestor(connection, base, head):
        return 0
    database.lock_reports(connection)
    digests = {change_digest(row.series_id, base, head) for row in published}
    gone = stored_changes.in_state(connection, sorted(digests), "superseded")
    published = [row for row in published if change_digest(row.series_id, base, head) not in gone]
    known = stored_changes.changes_of_comparison(connection, comparison_id)
    refuted = [each for digest, each in known.items() if digest not in digests]
    stored_changes.refute_changes(connection, [each.id for each in refuted])
    stored_changes.keep_changes(connection, [_confirmed_change(comparison, row) for row in published], now)
    series = {*(row.series_id for row in published), *(each.series_id for each in refuted)}
    report_changes(connection, sorted(series), now, [each.id for each in refuted])
    return len(published)


def keep_confirmed(
    connection: Connection[Any],
    series_id: int,
    pair: tuple[int, int],
    row: ComparisonRow,
    comparison: int,
    now: datetime,
) -> None:
    """Stores the change of a confirmed candidate, and adds it to the report of its range.

    `pair` are its base and head revisions; `row` is the comparison's row that measured it.
    """
    assert row.change is not None
    facts = ChangeFacts(
        digest=change_digest(series_id, *pair),
        series_id=series_id,
        base_revision_id=pair[0],
        head_revision_id=pair[1],
        state="confirmed",
        kind=_kind_of(row, row.change),
        size=row.change,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        base_value=None,
        head_value=None,
        apart=_is_apart(connection, comparison),
        comparison_id=comparison,
        report_id=None,
    )
    stored_changes.keep_changes(connection, [facts], now)
    report_changes(connection, [series_id], now)


def _is_apart(connection: Connection[Any], comparison_id: int) -> bool:
    comparison = comparisons.comparison_by_id(connection, comparison_id)
    return comparison is not None and _are_apart(comparison)


def _are_apart(comparison: StoredComparison) -> bool:
    """Whether the sides were measured separately, not in turns. False in icount: counts do not drift."""
    warnings = read_summary(comparison.summary).warnings
    return comparison.mode != "icount" and not took_turns(each.text for each in warnings)


def _kind_of(row: ComparisonRow, change: float) -> ChangeKind:
    if row.better is None:
        return "changed"
    return "regression" if (change < 0) == (row.better == "higher") else "improvement"


def answers_watching(connection: Connection[Any], run: str) -> bool:
    """Whether a run was requested to confirm candidates or to bisect.

    Confirming or bisecting then takes its changes, once.
    """
    row = runs.run_row(connection, run)
    return row is not None and confirmations.asked_by_watching(connection, row.id)


KINDS: Mapping[Verdict, ChangeKind] = {
    "regression": "regression",
    "improvement": "improvement",
    "changed": "changed",
}


def _confirmed_change(comparison: StoredComparison, row: VerdictRow) -> ChangeFacts:
    base, head = comparison.base_revision_id, comparison.head_revision_id
    return ChangeFacts(
        digest=change_digest(row.series_id, base, head),
        series_id=row.series_id,
        base_revision_id=base,
        head_revision_id=head,
        state="confirmed",
        kind=KINDS[row.verdict],
        size=row.change,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        base_value=row.base_value,
        head_value=row.head_value,
        apart=_are_apart(comparison),
        comparison_id=comparison.id,
        report_id=None,
    )


def change_digest(series_id: int, base: int, head: int) -> str:
    """Returns the identity of a step of a series between two revisions."""
    return digest_of(["change", series_id, base, head])


def branches_with(connection: Connection[Any], run: str) -> list[int]:
    """Returns the branches that contain a revision of this run. Empty if the run is not of their history."""
    row = runs.run_row(connection, run)
    assert row is not None
    if not row.of_history:
        return []
    arms = run_arms.arms_of(connection, row.id)
    return trees.branches_of(connection, [arm.revision_id for arm in arms if arm.revision_id is not None])
