"""Keeps one report for each culprit, whichever ranges showed its changes."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import count, groupby
from typing import Any

from psycopg import Connection

from cliffwatch.identities import digest_of
from cliffwatch_service.history.ranges.bands import band_of
from cliffwatch_service.history.ranges.explaining import RangesSettled, settle_series
from cliffwatch_service.store import series, trees
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history import ranges, reports

Range = tuple[int, int]
"""Ids of a base and a head revision."""


def report_changes(
    connection: Connection[Any], series_ids: Sequence[int], now: datetime, refuted: Sequence[int] = ()
) -> None:
    """Reports the confirmed regressions of these series that have no report yet, each culprit once.

    Changes of wide ranges that narrower ones explain are superseded, and leave their reports. Superseded
    changes that nothing explains since `refuted` changes are gone are confirmed again.
    """
    if not series_ids:
        return
    settled = _settle(connection, series_ids, refuted)
    stored_changes.supersede_changes(
        connection, [each.wide.id for found in settled for each in found.explained]
    )
    ranges.restore_changes(connection, [each.id for found in settled for each in found.restored])
    left = {
        each.wide.report_id
        for found in settled
        for each in found.explained
        if each.wide.report_id is not None
    }
    narrow = [
        (each.base_revision_id, each.head_revision_id)
        for found in settled
        for explanation in found.explained
        for each in explanation.narrow
        if each.kind == "regression"
    ]
    unreported = stored_changes.unreported_ranges(connection, series_ids)
    worse = [(each.base, each.head) for each in unreported if each.worse]
    keep_reports(connection, [*worse, *narrow], sorted(left), now)
    join_reports(connection, [(each.base, each.head) for each in unreported if not each.worse])


def _settle(
    connection: Connection[Any], series_ids: Sequence[int], refuted: Sequence[int]
) -> list[RangesSettled]:
    rows = ranges.ranges_of_series(connection, series_ids)
    about = series.series_rows(connection, sorted({row.series_id for row in rows}))
    bands = {series_id: band_of(each) for series_id, each in about.items()}
    return [
        settle_series(list(group), bands[series_id], frozenset(refuted))
        for (series_id, _), group in groupby(rows, key=lambda row: (row.series_id, row.branch_id))
    ]


def keep_reports(
    connection: Connection[Any], culprits: Iterable[Range], left: Sequence[int], now: datetime
) -> None:
    """Keeps one report for each range, and adds the range's confirmed changes to it.

    A report of `left` without a regression becomes the report of the first range without one. If every range
    has a report, it is merged into the first range's. Improvements of its old range leave it.
    """
    empty = [report for report in left if not reports.has_regressions(connection, report)]
    for each in empty:
        stored_changes.release_changes(connection, each)
    first: int | None = None
    for base, head in dict.fromkeys(culprits):
        if reports.report_of_range(connection, base, head) is None and empty:
            report = empty.pop(0)
            reports.narrow_report(connection, report, base, head, now)
        else:
            report = report_between(connection, base, head, now)
        first = first or report
        stored_changes.gather_changes(connection, base, head, report)
    for each in empty:
        if first is not None and first != each:
            reports.merge_report(connection, each, first, now)


def join_reports(connection: Connection[Any], others: Iterable[Range]) -> None:
    """Adds changes that are no regressions to the reports of their ranges, if there are any."""
    for base, head in others:
        report = reports.report_of_range(connection, base, head)
        if report is not None:
            stored_changes.gather_changes(connection, base, head, report)


def report_between(connection: Connection[Any], base: int, head: int, now: datetime) -> int:
    """Returns the report of a culprit, or of its range while the culprit is unknown; opens one if needed.

    A report that was opened for this range may be another culprit's by now, and has taken its digest along.
    """
    commits = trees.revision_rows(connection, [base, head])
    for number in count():
        again = [number] if number else []
        digest = digest_of(["report", commits[base].commit, commits[head].commit, *again])
        report = reports.keep_report(connection, digest, base, head, now)
        if report is not None:
            return report
    raise AssertionError
