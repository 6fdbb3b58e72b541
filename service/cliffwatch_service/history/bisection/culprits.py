"""Stores the result of a bisection: the changes of the culprits that it found, under their reports."""

from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import Connection

from cliffwatch.counting import count_noun
from cliffwatch.stats.history.culprits.graph import Graph
from cliffwatch.stats.history.culprits.question import Pair, SearchResult, Step
from cliffwatch_service.history.bisection.judging import Judge
from cliffwatch_service.history.changes import change_digest
from cliffwatch_service.history.ranges.reporting import keep_reports, report_changes
from cliffwatch_service.store import database, trees
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history import locating
from cliffwatch_service.store.history.bisections import BisectionRow
from cliffwatch_service.store.history.changes import ChangeFacts, ChangeKind, WideChangeRow


def take_culprits(
    connection: Connection[Any],
    row: BisectionRow,
    changes: Sequence[WideChangeRow],
    ends: Sequence[tuple[Judge, SearchResult]],
    located: Container[str],
    graph: Graph,
    now: datetime,
) -> str | None:
    """Replaces the changes of a range by changes of the commits that made them.

    `located` are the digests of the series whose commit was located in icount. Returns what stays open; None
    if nothing does.
    """
    database.lock_reports(connection)
    whole = Pair(row.base, row.head)
    wide = {each.series: each for each in changes}
    steps = [
        (judge, step)
        for judge, found in ends
        for step in found.steps
        if step.pair != whole and step.row in wide
    ]
    narrowed = {step.row for _, step in steps}
    gone = [each for series, each in wide.items() if series in narrowed]
    stored_changes.supersede_changes(connection, [each.id for each in gone])
    facts = list(_facts(connection, wide, steps))
    shown = stored_changes.in_state(connection, [each.digest for each in facts], "confirmed")
    stored_changes.keep_changes(connection, [each for each in facts if each.digest not in shown], now)
    stored_changes.set_bisection(connection, [each.digest for each in facts], row.id)
    counted = {each.series_id for series, each in wide.items() if series in located}
    locating.set_located(connection, [each.digest for each in facts if each.series_id in counted], "icount")
    _keep_landings(connection, graph.line(row.base, row.head), graph, {step.pair.head for _, step in steps})
    left = [each.digest for series, each in wide.items() if series not in narrowed]
    stored_changes.set_bisection(connection, left, row.id)
    _keep_reports(connection, facts, gone, now)
    return _explain_open(ends)


def _keep_landings(
    connection: Connection[Any], line: Sequence[str], graph: Graph, culprits: set[str]
) -> None:
    """Records which merge brought each culprit to the line, if the culprit is not on the line itself."""
    for commit in sorted(culprits - set(line)):
        landed = next((each for each in line if commit in graph.ancestors(each)), None)
        if landed is not None:
            ids = [
                trees.keep_revision(connection, trees.RevisionFacts(commit=each)) for each in (commit, landed)
            ]
            stored_changes.set_landed(connection, *ids)


def _facts(
    connection: Connection[Any], wide: dict[str, WideChangeRow], steps: Sequence[tuple[Judge, Step]]
) -> Iterator[ChangeFacts]:
    seen: set[str] = set()
    for judge, step in steps:
        base, head = (
            trees.keep_revision(connection, trees.RevisionFacts(commit=commit)) for commit in step.pair
        )
        was = wide[step.row]
        digest = change_digest(was.series_id, base, head)
        if digest in seen:
            continue
        seen.add(digest)
        read = _read(judge, step, was)
        yield ChangeFacts(
            digest=digest,
            series_id=was.series_id,
            base_revision_id=base,
            head_revision_id=head,
            state="confirmed",
            kind=_kind(was, step),
            size=read.size,
            ci_low=read.low,
            ci_high=read.high,
            base_value=read.base,
            head_value=read.head,
            apart=False,
            comparison_id=None,
            report_id=None,
        )


def _kind(was: WideChangeRow, step: Step) -> ChangeKind:
    return "changed" if was.kind == "changed" else step.way


class _Read(NamedTuple):
    """The measured size of a change."""

    size: float | None
    """Fraction; None for a change without a percentage."""
    low: float | None = None
    """Lower bound of the size; None if unknown."""
    high: float | None = None
    """Upper bound of the size; None if unknown."""
    base: float | None = None
    """Value of base, for a change without a percentage."""
    head: float | None = None
    """Value of head, for a change without a percentage."""


def _read(judge: Judge, step: Step, was: WideChangeRow) -> _Read:
    """Returns the size of the change at the culprit, with its bounds if they were measured.

    If the change at the culprit was not measured, returns the size over the whole range.
    """
    row = judge.measured.get(step.pair, {}).get(step.row)
    if step.own is None and row is not None and row.change is not None:
        return _Read(row.change, row.ci_low, row.ci_high)
    judged = judge.judged(step.pair)
    values = None if judged is None else judged.row(step.row)
    if values is None or values.base is None:
        return _Read(was.size, was.ci_low, was.ci_high, was.base_value, was.head_value)
    difference = values.difference if step.own is None else step.own
    head = values.base + difference
    if values.base > 0 and head > 0:
        return _Read(difference / values.base)
    return _Read(None, base=values.base, head=head)


def _keep_reports(
    connection: Connection[Any],
    facts: Sequence[ChangeFacts],
    gone: Sequence[WideChangeRow],
    now: datetime,
) -> None:
    """Keeps one report for each culprit that made a series worse.

    Reports of the range that lost all their changes become or join those of the culprits. Changes of commits
    that made no series worse join a report only if their commit has one. The culprits may explain changes of
    wider ranges too.
    """
    left = sorted({each.report_id for each in gone if each.report_id is not None})
    worse = [(each.base_revision_id, each.head_revision_id) for each in facts if each.kind == "regression"]
    keep_reports(connection, worse, left, now)
    report_changes(connection, sorted({each.series_id for each in facts}), now)


def _explain_open(ends: Sequence[tuple[Judge, SearchResult]]) -> str | None:
    several = max((len(step.commits) for _, found in ends for step in found.steps), default=1)
    cut = sum(len(found.cut) for _, found in ends)
    if several > 1:
        return (
            f"one of {count_noun(several, 'commit')}: those between could not be measured, or have the same"
            " neighbours"
        )
    return (
        f"{count_noun(cut, 'series', 'series')} stepped too often to be searched to the end" if cut else None
    )
