"""Finds host events: many series of one host that step at once, because the host changed."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch.identities import digest_of
from cliffwatch.stats.history.events import machine_events
from cliffwatch.stats.history.steps import AFTER, BEFORE, Step
from cliffwatch_service.store.history import watching
from cliffwatch_service.store.history.points import RecentPointRow
from cliffwatch_service.store.history.watching import HostEventFacts

Points = Mapping[int, Sequence[RecentPointRow]]
Steps = Mapping[int, Sequence[Step]]


def points_since_events(
    connection: Connection[Any], branch_id: int, points: Points, relative: Collection[int]
) -> dict[int, list[RecentPointRow]]:
    """Returns the points of each series since the last event of its host: watching restarts there.

    `relative` are the series that are watched relative to their anchor. They ignore the anchor's own steps.
    """
    begins: dict[int, int] = {}
    for place in watching.event_places(connection, branch_id):
        moved = [each for each in place.series if place.reason == "series" or each not in relative]
        begins.update(dict.fromkeys(moved, place.ordinal))
    return {
        series_id: [point for point in own if point.ordinal >= begins.get(series_id, point.ordinal)]
        for series_id, own in points.items()
    }


def keep_host_events(
    connection: Connection[Any], branch_id: int, points: Points, steps: Steps, now: datetime
) -> None:
    """Stores an event if many series in walltime of a host step together.

    A fresh comparison later shows whether the host or a commit moved them. Counted series are left out: no
    host can move them. `points` has no series that are watched relative to their anchor: the host cancels in
    them. Steps that a comparison confirmed are no longer among `steps`.
    """
    steps = {series_id: own for series_id, own in steps.items() if own and series_id in points}
    if not steps:
        return
    order = sorted({point.ordinal for own in points.values() for point in own})
    ranks = {ordinal: rank for rank, ordinal in enumerate(order)}
    revisions = {point.ordinal: point.revision_id for own in points.values() for point in own}
    for (platform, host), stepped in _by_host(connection, points, steps).items():
        measured = _watched_series(connection, platform, points)
        places = {
            str(series_id): [ranks[points[series_id][step.index].ordinal] for step in own]
            for series_id, own in stepped.items()
        }
        for event in machine_events(places, measured=measured):
            base, head = revisions[order[max(0, event.index - 1)]], revisions[order[event.index]]
            facts = HostEventFacts(
                digest=digest_of(["host event", branch_id, platform, host, head]),
                branch_id=branch_id,
                platform=platform,
                host_id=host,
                base_revision_id=base,
                head_revision_id=head,
                series=[int(name) for name in event.series],
                measured=measured,
                reason="series",
            )
            watching.keep_host_event(connection, facts, now)


def _by_host(
    connection: Connection[Any], points: Points, steps: Steps
) -> dict[tuple[str, int | None], dict[int, list[Step]]]:
    """Returns the steps of series in walltime, by platform and by host, then by series.

    The host is the one that measured the first revision after the step; None if its run names no host.
    """
    targets = {row.id: row for row in watching.targets_of_series(connection, list(steps))}
    stepped: dict[tuple[str, int | None], dict[int, list[Step]]] = defaultdict(lambda: defaultdict(list))
    for series_id, own in steps.items():
        target = targets[series_id]
        if target.mode != "walltime":
            continue
        for step in own:
            stepped[target.platform, points[series_id][step.index].host_id][series_id].append(step)
    return stepped


def _watched_series(connection: Connection[Any], platform: str, points: Points) -> int:
    """Returns how many series in walltime of a platform have enough points to contain a step."""
    long = [series_id for series_id, own in points.items() if len(own) >= BEFORE + AFTER]
    rows = watching.targets_of_series(connection, long)
    return sum(row.platform == platform and row.mode == "walltime" for row in rows)
