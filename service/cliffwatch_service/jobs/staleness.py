"""Finds stale cases of followed branches: no fresh point within three times their cadence."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from psycopg import Connection

from cliffwatch.counting import count_noun
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.store import runs
from cliffwatch_service.store.history import freshness
from cliffwatch_service.store.history.freshness import LastMeasuredRow

STALE_CADENCES = 3
"""A case is stale after this many cadences without a fresh point."""

SOONEST = timedelta(days=1)
"""No case becomes stale sooner: commits come in bursts, and gaps between bursts are normal."""

TOGETHER = timedelta(hours=1)
"""Points within this time count as one measurement for the cadence, such as the commits of a push."""

_UNKNOWN = timedelta(days=1)
"""Cadence assumed for a case that was measured once."""

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleTarget:
    """The stale cases of a followed branch on a platform in a mode."""

    branch: str
    platform: str
    mode: str
    cases: Sequence[str]
    """As SUITE/CASE."""
    since: datetime
    """Last measurement of the case that was measured longest ago."""

    def sentence(self, now: datetime) -> str:
        named = ", ".join(self.cases[:_MOST_NAMED])
        more = (
            f" and {count_noun(len(self.cases) - _MOST_NAMED, 'other')}"
            if len(self.cases) > _MOST_NAMED
            else ""
        )
        return (
            f"{self.branch} on {self.platform} ({self.mode}):"
            f" no fresh point for {count_noun((now - self.since).days, 'day')}"
            f" of {count_noun(len(self.cases), 'case')}: {named}{more}"
        )


def keep_fresh(connection: Connection[Any], run: str, now: datetime) -> None:
    """Records which cases a run of a followed branch's history keeps fresh.

    These are the measured cases and those that needed no measurement, because their build is unchanged.
    """
    freshness.keep_measured(connection, run, TOGETHER, now)
    row = runs.run_row(connection, run)
    left_out = () if row is None else stored_record(row).left_out
    unchanged = [outcome.case for outcome in left_out if outcome.status == "unchanged-build"]
    if unchanged:
        freshness.keep_unchanged(connection, run, unchanged, TOGETHER, now)


def stale_targets(connection: Connection[Any], now: datetime) -> list[StaleTarget]:
    """Returns the stale cases of all followed branches."""
    return stale_of(freshness.last_measured(connection, now - SOONEST), now)


def stale_of(rows: Sequence[LastMeasuredRow], now: datetime) -> list[StaleTarget]:
    """Returns the stale cases among rows ordered by branch, platform and mode.

    A branch without new commits owes no point. Pure.
    """
    found = []
    for (_, platform, mode), group in groupby(rows, key=lambda row: (row.follow_id, row.platform, row.mode)):
        stale = [
            row
            for row in group
            if row.moved and now - row.at > max(STALE_CADENCES * (row.gap or _UNKNOWN), SOONEST)
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
