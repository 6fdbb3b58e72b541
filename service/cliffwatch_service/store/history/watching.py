"""What watching finds besides changes: host events and slow trends."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from psycopg import Connection

from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import row_cursor, tuple_cursor, values

TrendSince = Literal["release", "90 days"]
EventReason = Literal["series", "control"]
"""`series`: many series stepped at once. `control`: the anchor did."""


class TargetRow(NamedTuple):
    """The platform and mode of a series."""

    id: int
    platform: str
    mode: Mode


def targets_of_series(connection: Connection[Any], ids: Sequence[int]) -> list[TargetRow]:
    query = "SELECT id, platform, mode FROM series WHERE id = ANY(%s)"
    return tuple_cursor(connection, TargetRow._make).execute(query, [list(ids)]).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEventFacts:
    """Series of a host that stepped together between two revisions of a branch."""

    digest: str
    branch_id: int
    platform: str
    host_id: int | None
    base_revision_id: int
    head_revision_id: int
    series: list[int]
    """The series that stepped."""
    measured: int
    """Number of series that were measured."""
    reason: EventReason
    """Whether the revisions' own series stepped, or those of their anchor (`control`)."""


_EVENT = """
INSERT INTO host_event (digest, branch_id, platform, host_id, base_revision_id, head_revision_id, series,
    measured, reason, found)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (digest) DO UPDATE SET series = excluded.series, measured = excluded.measured
"""


def keep_host_event(connection: Connection[Any], event: HostEventFacts, now: datetime) -> None:
    connection.execute(
        _EVENT,
        [
            event.digest,
            event.branch_id,
            event.platform,
            event.host_id,
            event.base_revision_id,
            event.head_revision_id,
            event.series,
            event.measured,
            event.reason,
            now,
        ],
    )


class EventPlaceRow(NamedTuple):
    """The place of a host event on a branch."""

    platform: str
    host_id: int | None
    ordinal: int
    """Place of the first revision after it."""
    series: list[int]
    """The series that stepped."""
    reason: EventReason


def event_places(connection: Connection[Any], branch_id: int) -> list[EventPlaceRow]:
    query = (
        "SELECT platform, host_id, ordinal, series, reason FROM host_event JOIN branch_revision AS member"
        " ON member.revision_id = head_revision_id AND member.branch_id = host_event.branch_id"
        " WHERE host_event.branch_id = %s ORDER BY ordinal"
    )
    return tuple_cursor(connection, EventPlaceRow._make).execute(query, [branch_id]).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEventRow:
    """A host event as it is shown beside one of its series."""

    branch: str
    host: str | None
    """None if the run named none."""
    base: str
    head: str
    stepped: int
    """Number of series that stepped."""
    measured: int
    """Number of series that were measured."""
    reason: EventReason
    """Which series stepped.

    `series`: those of the revisions. A fresh comparison shows whether the host or a commit is the cause.
    `control`: those of the anchor, the same revision in every run. The host is the cause.
    """
    found: datetime


_EVENTS = """
SELECT branch.name AS branch, host.name AS host, base.commit AS base, head.commit AS head,
       cardinality(host_event.series) AS stepped, measured, reason, found
FROM host_event JOIN branch ON branch.id = branch_id LEFT JOIN host ON host.id = host_id
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
WHERE %(series)s = ANY(host_event.series) ORDER BY found DESC, host_event.id DESC LIMIT 100
"""


def host_events_of(connection: Connection[Any], series_id: int) -> list[HostEventRow]:
    """Returns the newest hundred host events at which a series stepped, newest first."""
    return row_cursor(connection, HostEventRow).execute(_EVENTS, {"series": series_id}).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendFacts:
    """A trend to store: a series that drifts from base to head."""

    series_id: int
    since: TrendSince
    base_revision_id: int
    head_revision_id: int
    total: float
    """The whole drift, a fraction."""
    p: float
    points: int
    """Number of revisions."""


def replace_trends(
    connection: Connection[Any], branch_id: int, trends: Sequence[TrendFacts], now: datetime
) -> None:
    """Replaces the trends of a branch."""
    connection.execute("DELETE FROM trend WHERE branch_id = %s", [branch_id])
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO trend (series_id, branch_id, since, base_revision_id, head_revision_id, total, p,"
            " points, found)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    each.series_id,
                    branch_id,
                    each.since,
                    each.base_revision_id,
                    each.head_revision_id,
                    each.total,
                    each.p,
                    each.points,
                    now,
                )
                for each in trends
            ],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendRow:
    """A trend as it is shown beside its series."""

    branch: str
    since: TrendSince
    """It begins at the release's first revision, or 90 days ago."""
    base: str
    head: str
    total: float
    """The whole drift, a fraction."""
    p: float
    points: int
    """Number of revisions."""
    found: datetime


_TRENDS = """
SELECT branch.name AS branch, since, base.commit AS base, head.commit AS head, total, p, points, found
FROM trend JOIN branch ON branch.id = branch_id
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
WHERE series_id = %s ORDER BY branch.name, since
"""


def trends_of(connection: Connection[Any], series_id: int) -> list[TrendRow]:
    return row_cursor(connection, TrendRow).execute(_TRENDS, [series_id]).fetchall()


class TrendPointRow(NamedTuple):
    """A point of the last ninety days of a branch."""

    series_id: int
    ordinal: int
    revision_id: int
    centre: float
    epoch: str
    release: str | None
    """The release that its kernel names."""
    anchor_id: int | None
    """Revision of the anchor."""
    anchor: float | None
    """The anchor's value in the same run; None if it is missing, infinite or not positive."""


_TREND_POINTS = """
WITH measured AS (
    SELECT ordinal, revision_id, revision.release, coalesce(revision.committed, revision.authored) AS at
    FROM branch_revision AS own JOIN revision ON revision.id = revision_id
    WHERE branch_id = %(branch)s
      AND EXISTS (SELECT FROM arm JOIN run ON run.id = run_id
          WHERE arm.revision_id = own.revision_id AND of_history)
), recent AS (
    SELECT *, row_number() OVER (ORDER BY ordinal DESC) - 1 AS back, count(*) OVER () AS revisions
    FROM measured
    WHERE at >= (SELECT max(at) FROM measured) - interval '90 days'
)
SELECT point.series_id, ordinal, point.revision_id, point.centre, environment.epoch, recent.release,
       anchor_point.revision_id AS anchor_id, anchor_point.centre AS anchor
FROM recent
JOIN arm ON arm.revision_id = recent.revision_id
JOIN run ON run.id = arm.run_id AND run.of_history
JOIN environment ON environment.id = run.environment_id
JOIN point ON point.arm_id = arm.id
LEFT JOIN anchor_point ON anchor_point.series_id = point.series_id AND anchor_point.run_id = run.id
    AND anchor_point.centre > 0 AND anchor_point.centre < 'infinity'
WHERE back %% greatest(1, (revisions + %(most)s - 1) / %(most)s) = 0
ORDER BY point.series_id, ordinal, point.arm_id
"""


def trend_points(connection: Connection[Any], branch_id: int, most: int) -> list[TrendPointRow]:
    """Returns the points of at most `most` revisions from the last ninety days of a branch, evenly chosen.

    Sorted by series, then in the branch's order.
    """
    wanted = {"branch": branch_id, "most": most}
    return (
        tuple_cursor(connection, TrendPointRow._make).execute(_TREND_POINTS, wanted, binary=True).fetchall()
    )


def branches_measured(connection: Connection[Any]) -> list[int]:
    """Returns the branches of which a run of history measured a revision."""
    query = (
        "SELECT id FROM branch WHERE EXISTS (SELECT FROM branch_revision AS own"
        " JOIN arm ON arm.revision_id = own.revision_id"
        " JOIN run ON run.id = run_id WHERE own.branch_id = branch.id AND of_history) ORDER BY id"
    )
    return values(connection, int).execute(query).fetchall()
