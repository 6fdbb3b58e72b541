"""Finds host events: a host's measurements of the anchor step from one night to the next.

The anchor's kernel is the same every night. So the host changed, and no commit is blamed.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

import numpy as np
from psycopg import Connection

from cliffwatch.identities import digest_of
from cliffwatch.stats.history.events import UNCERTAINTY, machine_events
from cliffwatch.stats.history.steps import AFTER, BEFORE, HORIZON, Step
from cliffwatch.stats.history.watch import new_candidates
from cliffwatch_service.history.watching.relative import newest_anchor
from cliffwatch_service.store.history import watching
from cliffwatch_service.store.history.points import RecentPointRow
from cliffwatch_service.store.history.watching import EventPlaceRow, HostEventFacts
from cliffwatch_service.store.series import SeriesRow

Rows = Mapping[int, Sequence[RecentPointRow]]
Host = tuple[str, int | None]
"""A platform and the id of a host; None if the run names no host."""


def keep_control_events(
    connection: Connection[Any], branch_id: int, anchored: Rows, about: Mapping[int, SeriesRow], now: datetime
) -> list[EventPlaceRow]:
    """Stores an event if many series of a host's anchor step together. Returns all such events of the branch.

    `anchored` are the points of noisy series that have an anchor, in the branch's order; `about` are the
    series by id.
    """
    known = _places(connection, branch_id)
    events = [
        _facts(branch_id, host, nights, event)
        for host, nights in _nights(anchored, about).items()
        for event in _events(
            nights, [each.ordinal for each in known if (each.platform, each.host_id) == host]
        )
    ]
    for event in events:
        watching.keep_host_event(connection, event, now)
    return _places(connection, branch_id) if events else known


def _places(connection: Connection[Any], branch_id: int) -> list[EventPlaceRow]:
    return [each for each in watching.event_places(connection, branch_id) if each.reason == "control"]


def _nights(anchored: Rows, about: Mapping[int, SeriesRow]) -> dict[Host, Rows]:
    """Returns one point per run, by host and series: the point of the newest revision that the run measured.

    Only points with the series' newest anchor count.
    """
    by_host: dict[Host, dict[int, list[RecentPointRow]]] = defaultdict(dict)
    for series_id, rows in anchored.items():
        anchor = newest_anchor(rows)
        by_run = {row.run_id: row for row in rows if row.anchor_id == anchor}
        by_place = {(row.host_id, row.ordinal): row for row in by_run.values()}
        platform = about[series_id].platform
        for row in sorted(by_place.values(), key=attrgetter("ordinal")):
            by_host[platform, row.host_id].setdefault(series_id, []).append(row)
    return dict(by_host)


def _events(nights: Rows, known: Sequence[int]) -> list[tuple[int, list[int], int]]:
    """Returns the new events of a host.

    An event is the ordinal of the first revision after it, the ids of the series whose anchor steps there,
    and the number of series that are long enough to step. `known` are the ordinals of stored events.
    """
    order = sorted({row.ordinal for own in nights.values() for row in own})
    ranks = {ordinal: rank for rank, ordinal in enumerate(order)}
    long = {series_id: own[-HORIZON:] for series_id, own in nights.items() if len(own) >= BEFORE + AFTER}
    places = {
        str(series_id): [ranks[own[step.index].ordinal] for step in _steps(own, known)]
        for series_id, own in long.items()
    }
    return [
        (order[event.index], [int(name) for name in event.series], len(long))
        for event in machine_events(places, measured=len(long))
    ]


def _steps(own: Sequence[RecentPointRow], known: Sequence[int]) -> list[Step]:
    """Returns the steps of the anchor's values, except near the ordinals of known events."""
    logs = np.log([row.anchor or 1.0 for row in own])
    within = [ordinal for ordinal in known if own[0].ordinal < ordinal <= own[-1].ordinal]
    at = [_place(own, ordinal) for ordinal in within]
    steps = new_candidates(
        logs, [Step(index=place, size=0.0, p=0.0, first=place, last=place) for place in at]
    )
    return [step for step in steps if all(abs(step.index - place) > UNCERTAINTY for place in at)]


def _place(own: Sequence[RecentPointRow], ordinal: int) -> int:
    """Returns the index of the first point at or after an ordinal; of the last point if there is none."""
    return min(bisect_left([row.ordinal for row in own], ordinal), len(own) - 1)


def _facts(branch_id: int, host: Host, nights: Rows, event: tuple[int, list[int], int]) -> HostEventFacts:
    ordinal, stepped, measured = event
    revisions = {row.ordinal: row.revision_id for own in nights.values() for row in own}
    before = max((each for each in revisions if each < ordinal), default=ordinal)
    return HostEventFacts(
        digest=digest_of(["host event", branch_id, *host, revisions[ordinal], "control"]),
        branch_id=branch_id,
        platform=host[0],
        host_id=host[1],
        base_revision_id=revisions[before],
        head_revision_id=revisions[ordinal],
        series=stepped,
        measured=measured,
        reason="control",
    )


def remove_explained_steps(
    steps: Mapping[int, Sequence[Step]],
    points: Rows,
    about: Mapping[int, SeriesRow],
    events: Sequence[EventPlaceRow],
    counted: Collection[int],
) -> dict[int, list[Step]]:
    """Removes the steps that an event of the host's anchor explains.

    Keeps all steps of the series in `counted`: no host can move counted series, and the event cancels in
    series that are relative to their anchor.
    """

    def explained(series_id: int, step: Step) -> bool:
        own = points[series_id]
        host = (about[series_id].platform, own[step.index].host_id)
        return series_id not in counted and any(
            (event.platform, event.host_id) == host
            and abs(_place(own, event.ordinal) - step.index) <= UNCERTAINTY
            for event in events
        )

    return {
        series_id: [step for step in own if not (events and explained(series_id, step))]
        for series_id, own in steps.items()
    }
