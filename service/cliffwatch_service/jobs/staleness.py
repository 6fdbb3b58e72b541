"""Cases of followed branches that got no fresh point for three times their cadence."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from psycopg import Connection

from cliffwatch.counting import counted
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.store import runs
from cliffwatch_service.store.history import freshness
from cliffwatch_service.store.history.freshness import LastMeasuredRow

TIMES = 3
"""Cadences without a fresh point make a case stale."""

SOONEST = timedelta(days=1)
"""No case is stale sooner: commits come in bursts, and between them nothing is amiss."""

TOGETHER = timedelta(hours=1)
"""What is measured within it is one measurement of a cadence, such as the commits of a push."""

_UNKNOWN = timedelta(days=1)
"""The cadence of a case that was measured once."""

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleTarget:
    """A followed branch on a platform in a mode, and its cases that are stale; `since` is when the one that waits longest was measured."""

    branch: str
    platform: str
    mode: str
    cases: Sequence[str]
    since: datetime

    def sentence(self, now: datetime) -> str:
        named = ", ".join(self.cases[:_MOST_NAMED])
        more = (
            f" and {counted(len(self.cases) - _MOST_NAMED, 'other')}" if len(self.cases) > _MOST_NAMED else ""
        )
        return (
            f"{self.branch} on {self.platform} ({self.mode}): no fresh point for {counted((now - self.since).days, 'day')} of"
            f" {counted(len(self.cases), 'case')}: {named}{more}"
        )


def keep_fresh(connection: Connection[Any], run: str, now: datetime) -> None:
    """Notes which cases of a followed branch a run of its history answers for: those that it measured, and those that it need not measure."""
    freshness.keep_measured(connection, run, TOGETHER, now)
    row = runs.run_row(connection, run)
    left_out = () if row is None else stored_record(row).left_out
    unchanged = [outcome.key for outcome in left_out if outcome.status == "unchanged-build"]
    if unchanged:
        freshness.keep_unchanged(connection, run, unchanged, TOGETHER, now)


def stale_targets(connection: Connection[Any], now: datetime) -> list[StaleTarget]:
    """Of everything that is followed."""
    return stale_of(freshness.last_measured(connection, now - SOONEST), now)


def stale_of(rows: Sequence[LastMeasuredRow], now: datetime) -> list[StaleTarget]:
    """Of rows that are ordered by branch, platform and mode. A branch that has not gone on since owes no point. Pure."""
    found = []
    for (_, platform, mode), group in groupby(rows, key=lambda row: (row.follow_id, row.platform, row.mode)):
        stale = [
            row for row in group if row.moved and now - row.at > max(TIMES * (row.gap or _UNKNOWN), SOONEST)
        ]
        if stale:
            target = StaleTarget(
                branch=stale[0].branch,
                platform=platform,
                mode=mode,
                cases=[f"{row.suite}/{row.case}" for row in stale],
                since=min(row.at for row in stale),
            )
            found.append(target)
    return found
