"""Finds steps that only the history of a branch shows, and requests a fresh comparison around each."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, takewhile
from typing import Any

import numpy as np
from psycopg import Connection

from cliffwatch.stats.history.exact import exact_steps
from cliffwatch.stats.history.steps import HORIZON, NEAR, Step
from cliffwatch.stats.history.watch import new_candidates
from cliffwatch_service.history.changes import change_digest
from cliffwatch_service.history.ranges.bands import band_of
from cliffwatch_service.history.watching.control import keep_control_events, remove_explained_steps
from cliffwatch_service.history.watching.host_events import keep_host_events, points_since_events
from cliffwatch_service.history.watching.relative import newest_anchor, relative_to_anchor
from cliffwatch_service.store import series
from cliffwatch_service.store.history import candidates as stored_candidates
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history import confirmations, points
from cliffwatch_service.store.history.changes import ChangeFacts, SpanRow
from cliffwatch_service.store.history.confirmations import ConfirmationRow, NewConfirmation
from cliffwatch_service.store.history.points import RecentPointRow
from cliffwatch_service.store.series import SeriesRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A step that was found in the history of a series. Noise makes its place uncertain."""

    series_id: int
    base: RecentPointRow
    """The step lies after this point."""
    before: RecentPointRow
    """Last point on the old level, by the best estimate."""
    head: RecentPointRow
    """First point on the new level, by the best estimate."""
    last: RecentPointRow
    """The step lies at this point or before it."""
    size: float
    """Fraction of the old level."""


def watch_branch(connection: Connection[Any], branch_id: int, now: datetime) -> int:
    """Finds steps in the newest points of every series of a branch. Returns the number of new candidates.

    A candidate is not a regression yet: a fresh comparison of the revisions around it confirms or refutes it.
    """
    stored_candidates.supersede_explained(connection, branch_id, now)
    rows = points.recent_points(connection, branch_id, HORIZON)
    known = {
        series_id: list(group)
        for series_id, group in groupby(
            stored_changes.change_spans(connection, branch_id), lambda row: row.series_id
        )
    }
    newest = {
        series_id: _newest_epoch(list(group))
        for series_id, group in groupby(rows, key=lambda row: row.series_id)
    }
    about = series.series_rows(connection, sorted(newest))
    bands = {series_id: band_of(row) for series_id, row in about.items()}
    anchored = {
        series_id: own
        for series_id, own in newest.items()
        if bands[series_id] is None and newest_anchor(own) is not None
    }
    control = keep_control_events(connection, branch_id, anchored, about, now)
    of_anchor = {
        series_id: own
        for series_id, rows in anchored.items()
        if (own := relative_to_anchor(rows)) is not None
    }
    watched = {
        series_id: _newest_per_revision(of_anchor.get(series_id, own)) for series_id, own in newest.items()
    }
    own_of = points_since_events(connection, branch_id, watched, of_anchor.keys())
    steps = {
        series_id: _steps(own, bands[series_id], known.get(series_id, ()))
        for series_id, own in own_of.items()
        if own
    }
    counted = {series_id for series_id, band in bands.items() if band is not None}
    steps = remove_explained_steps(steps, own_of, about, control, {*counted, *of_anchor})
    not_relative = {series_id: own for series_id, own in own_of.items() if series_id not in of_anchor}
    keep_host_events(connection, branch_id, not_relative, steps, now)
    fresh = [_candidate(own_of[series_id], step) for series_id, each in steps.items() for step in each]
    digests = stored_changes.known_digests(connection, [_facts(each).digest for each in fresh])
    fresh = [each for each in fresh if _facts(each).digest not in digests]
    _attach(connection, branch_id, fresh, about, now)
    return len(fresh)


def _newest_epoch(rows: Sequence[RecentPointRow]) -> list[RecentPointRow]:
    """Returns the points since the environment last changed, oldest revision first."""
    return list(reversed(list(takewhile(lambda row: row.epoch == rows[-1].epoch, reversed(rows)))))


def _newest_per_revision(rows: Sequence[RecentPointRow]) -> list[RecentPointRow]:
    """Returns the newest point of each revision."""
    return list({row.ordinal: row for row in rows}.values())


def _steps(own: Sequence[RecentPointRow], band: float | None, known: Sequence[SpanRow]) -> list[Step]:
    """Returns the steps of a series that are not known changes.

    `band` is the repeatability band of a counted series, a fraction; None for a noisy series.
    """
    if any(row.centre <= 0 or not math.isfinite(row.centre) for row in own):
        return []
    logs = np.log([row.centre for row in own])
    if band is not None:
        steps = exact_steps(logs, band)
        return [
            step
            for step in steps
            if not _is_known_change(own[step.index - 1].ordinal, own[step.index].ordinal, known)
        ]
    steps = new_candidates(logs, [_step_of(own, span) for span in known if _reaches(own, span)])
    return [step for step in steps if not _is_known_change(*_nearby(own, step), known)]


def _reaches(own: Sequence[RecentPointRow], span: SpanRow) -> bool:
    return own[0].ordinal <= span.head and span.base < own[-1].ordinal


def _step_of(own: Sequence[RecentPointRow], span: SpanRow) -> Step:
    """Returns a known change as a step of unknown size, at the last place where it may lie."""
    place = min(bisect_left([row.ordinal for row in own], span.head), len(own) - 1)
    return Step(index=place, size=0.0, p=0.0, first=place, last=place)


def _candidate(own: Sequence[RecentPointRow], step: Step) -> Candidate:
    return Candidate(
        series_id=own[0].series_id,
        base=own[max(0, min(step.first, step.index) - 1)],
        before=own[step.index - 1],
        head=own[step.index],
        last=own[min(max(step.last, step.index), len(own) - 1)],
        size=step.size,
    )


def _nearby(own: Sequence[RecentPointRow], step: Step) -> tuple[int, int]:
    """Returns the range of ordinals around a step: after the first, up to the second.

    A known change in it is the same step, located differently.
    """
    first, last = min(step.first, step.index - NEAR), max(step.last, step.index + NEAR)
    return own[max(0, first)].ordinal - 1, own[min(last, len(own) - 1)].ordinal


def _is_known_change(after: int, until: int, known: Sequence[SpanRow]) -> bool:
    """Whether a known change overlaps the range after ordinal `after`, up to `until`."""
    return any(span.base < until and span.head > after for span in known)


def _attach(
    connection: Connection[Any],
    branch_id: int,
    fresh: Sequence[Candidate],
    about: Mapping[int, SeriesRow],
    now: datetime,
) -> None:
    """Stores the candidates; each waits for a fresh comparison.

    Candidates that step together on one platform share a comparison.
    """
    known = confirmations.open_confirmations(connection, branch_id) if fresh else []
    for candidate in sorted(fresh, key=lambda each: (each.base.ordinal, each.last.ordinal, each.series_id)):
        own = about[candidate.series_id]
        row = next((row for row in known if _serves(row, candidate, own)), None)
        if row is None:
            identity = confirmations.keep_confirmation(
                connection, _new(branch_id, candidate, own, known), now
            )
        else:
            identity = row.id
            _widen(connection, row, candidate, own)
        if row is None or row.state == "waiting":  # the range may have changed
            known = confirmations.open_confirmations(connection, branch_id)
        stored_candidates.keep_candidate(connection, _facts(candidate), identity, now)


def _serves(row: ConfirmationRow, candidate: Candidate, own: SeriesRow) -> bool:
    """Whether a comparison without an answer yet covers a candidate, or can be widened to cover it."""
    same = (row.platform, row.mode) == (
        own.platform,
        own.mode,
    ) and row.base_ordinal < candidate.head.ordinal <= row.head_ordinal
    return same and (row.state == "waiting" or own.suite in row.suites)


def _widen(connection: Connection[Any], row: ConfirmationRow, candidate: Candidate, own: SeriesRow) -> None:
    if row.state != "waiting":
        return
    base = candidate.base.revision_id if candidate.base.ordinal < row.base_ordinal else row.base_revision_id
    head = candidate.last.revision_id if candidate.last.ordinal > row.head_ordinal else row.head_revision_id
    suites = {*row.suites, own.suite}
    confirmations.widen_confirmation(connection, row.id, base=base, head=head, suites=sorted(suites))


def _new(
    branch_id: int, candidate: Candidate, own: SeriesRow, known: Sequence[ConfirmationRow]
) -> NewConfirmation:
    """Returns a confirmation for a candidate.

    If the range of an open confirmation contains the candidate's, uses that range: the kernels are then built
    only once for all platforms.
    """
    base, head = candidate.base.revision_id, candidate.last.revision_id
    for row in known:
        if row.base_ordinal <= candidate.base.ordinal and candidate.last.ordinal <= row.head_ordinal:
            base, head = row.base_revision_id, row.head_revision_id
            break
    return NewConfirmation(
        branch_id=branch_id,
        platform=own.platform,
        mode=own.mode,
        base_revision_id=base,
        head_revision_id=head,
        suites=[own.suite],
    )


def _facts(candidate: Candidate) -> ChangeFacts:
    base, head = candidate.before.revision_id, candidate.head.revision_id
    return ChangeFacts(
        digest=change_digest(candidate.series_id, base, head),
        series_id=candidate.series_id,
        base_revision_id=base,
        head_revision_id=head,
        state="candidate",
        kind="step",
        size=candidate.size,
        ci_low=None,
        ci_high=None,
        base_value=None,
        head_value=None,
        apart=False,
        comparison_id=None,
        report_id=None,
    )
