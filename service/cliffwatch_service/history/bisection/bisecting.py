"""Narrows confirmed changes to the commits that made them.

Requests one comparison after another, and stores the culprits that the search finds. The search itself is in
cliffwatch.stats.history.culprits.

All measured pairs are in the database. The next pair, or the answer, follows from them alone, so results may
arrive late, twice or never.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from psycopg import Connection

from cliffwatch.failure import Failure
from cliffwatch.formats.setup import NO_SETUP, Setup
from cliffwatch.identities import digest_of
from cliffwatch.samples import Mode
from cliffwatch.stats.history.culprits.boots import steps_of
from cliffwatch.stats.history.culprits.graph import Graph
from cliffwatch.stats.history.culprits.question import Pair, SearchResult
from cliffwatch_service.history.bisection.culprits import take_culprits
from cliffwatch_service.history.bisection.judging import Judge, boots_of
from cliffwatch_service.history.bisection.locating import PATIENCE, Course, choose_course, located_result
from cliffwatch_service.history.bisection.searches import Judges, judges_of, searches_of
from cliffwatch_service.history.changes import take_changes
from cliffwatch_service.history.follow import ONLY_AFFECTED
from cliffwatch_service.history.git import commit_graph
from cliffwatch_service.history.watching.confirming import Answered, Unanswered, answer_of
from cliffwatch_service.jobs.requests import RequestDraft, store_request
from cliffwatch_service.store import database, tokens, trees
from cliffwatch_service.store.follows import ASKER
from cliffwatch_service.store.history import bisections, locating
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.bisections import BisectionRow, NewStep, StepRow
from cliffwatch_service.store.history.changes import WideChangeRow
from cliffwatch_service.store.trees import RevisionFacts

MOST_OPEN = 4
"""Most bisections with a comparison under way at a time. The others wait, oldest first."""

SOONEST = timedelta(hours=1)
"""Wait before the graph is fetched again after git failed."""


@dataclass(frozen=True, kw_only=True)
class BisectionState:
    """The state of a bisection."""

    row: BisectionRow
    changes: Sequence[WideChangeRow]
    """The confirmed changes that it narrows."""
    steps: Sequence[StepRow]
    judges: Judges
    """Results of the steps."""
    commits: Mapping[str, RevisionFacts]
    """The commits of its range, newest first."""

    @cached_property
    def graph(self) -> Graph:
        return Graph({commit: tuple(each.parents) for commit, each in self.commits.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """A pair to compare on a platform in a mode."""

    pair: Pair
    platform: str
    mode: Mode
    boots: str
    """Boots of each arm, or `auto`."""
    exact: bool
    """True for counted values: one comparison of the affected cases decides."""
    what: str
    """Added to the request's note, after the range."""


def bisect_changes(connection: Connection[Any], git_dir: Path, now: datetime) -> int:
    """Stores the results that arrived, starts new bisections, and requests the next comparisons.

    Returns the number of requests made.
    """
    if database.is_demonstration(connection):
        return 0
    for row in bisections.open_bisections(connection):
        _settle(connection, row, now)
    for each in bisections.unbisected_ranges(connection):
        bisections.insert_bisection(connection, each, now)
    rows = bisections.open_bisections(connection)
    steps = {row.id: bisections.steps_of(connection, row.id) for row in rows}
    room = MOST_OPEN - sum(_open(own) for own in steps.values())
    asked = 0
    for row in rows:
        if asked < room and not _open(steps[row.id]):
            asked += _go_on(connection, row, steps[row.id], git_dir, now)
    return asked


def _open(steps: Sequence[StepRow]) -> bool:
    return any(step.state == "asked" for step in steps)


def _settle(connection: Connection[Any], row: BisectionRow, now: datetime) -> None:
    """Records the result of the open step, once it has arrived.

    If a bisection in walltime compared its ends in icount, also stores the changes in icount.
    """
    for step in bisections.steps_of(connection, row.id):
        if step.state != "asked" or step.request_id is None:
            continue
        elsewhere = step.mode != row.mode
        answer = answer_of(connection, step.request_id, step.platform, step.mode, now)
        if answer is None and elsewhere and now - step.asked > PATIENCE:
            answer = Unanswered(f"not done within {PATIENCE.days} days")
        if isinstance(answer, Answered):
            bisections.end_step(
                connection, step.id, "measured", comparison_id=answer.comparison_id, reason=None, now=now
            )
            if elsewhere:
                take_changes(connection, answer.comparison_id, now)
        elif answer is not None:
            bisections.end_step(
                connection, step.id, "skipped", comparison_id=None, reason=answer.reason, now=now
            )


def _go_on(
    connection: Connection[Any], row: BisectionRow, steps: list[StepRow], git_dir: Path, now: datetime
) -> bool:
    """Requests the next pair, or ends the bisection. Returns whether it made a request."""
    changes = stored_changes.confirmed_between(
        connection, row.base_revision_id, row.head_revision_id, row.platform, row.mode
    )
    if not changes:
        bisections.end_bisection(connection, row.id, "its changes were refuted or superseded meanwhile", now)
        return False
    if row.reason is not None and row.looked is not None and now - row.looked < SOONEST:
        return False
    facts = commit_graph(git_dir / f"{digest_of(row.tree)}.git", row.tree, row.branch, row.base, row.head)
    problem = str(facts) if isinstance(facts, Failure) else None
    bisections.set_looked(connection, row.id, problem, now)
    if isinstance(facts, Failure):
        return False
    if not steps:
        steps = _begin(connection, row, changes, now)
    known = BisectionState(
        row=row,
        changes=changes,
        steps=steps,
        judges=judges_of(connection, row, changes, steps),
        commits={each.commit: each for each in facts},
    )
    step = _next(connection, known, now)
    if step is not None:
        _ask(connection, known, step, now)
    return step is not None


def _begin(
    connection: Connection[Any], row: BisectionRow, changes: Sequence[WideChangeRow], now: datetime
) -> list[StepRow]:
    """Stores the comparison that confirmed the changes as the first step: it compared both ends.

    Returns the bisection's steps.
    """
    comparison = next((each.comparison_id for each in changes if each.comparison_id is not None), None)
    if comparison is None:
        return []
    ends = NewStep(
        platform=row.platform,
        mode=row.mode,
        base_revision_id=row.base_revision_id,
        head_revision_id=row.head_revision_id,
        state="measured",
        boots="auto",
        request_id=None,
        comparison_id=comparison,
    )
    bisections.insert_step(connection, row.id, ends, now)
    return bisections.steps_of(connection, row.id)


def _next(connection: Connection[Any], known: BisectionState, now: datetime) -> NextStep | None:
    """Returns the next pair to compare; None if the bisection ended, or waits for icount."""
    row, judges = known.row, known.judges
    course = Course(why=None)
    if row.mode == "walltime" and judges.noisy.sizes:
        course = choose_course(connection, row, known.steps, judges.noisy, judges.about, known.graph, now)
    if course.why is not None:
        locating.set_why(connection, row.id, course.why)
    if course.waits:
        return None
    if course.platform is not None:
        ends, platform = Pair(row.base, row.head), course.platform
        what = ", both ends in icount"
        return NextStep(pair=ends, platform=platform, mode="icount", boots="auto", exact=True, what=what)
    if course.pair is not None:
        return _own_step(known, judges.noisy, course, course.pair, ", the commit that icount named")
    return _search(connection, known, course, now)


def _search(
    connection: Connection[Any], known: BisectionState, course: Course, now: datetime
) -> NextStep | None:
    """Returns the next pair of the searches in the bisection's own mode.

    If all searches are done, stores their culprits, ends the bisection and returns None.
    """
    judges = known.judges
    left = {series: size for series, size in judges.noisy.sizes.items() if series not in course.located}
    ends: list[tuple[Judge, SearchResult]] = []
    for search in searches_of(known.row, known.graph, [judges.counted, replace(judges.noisy, sizes=left)]):
        step = search.next()
        if isinstance(step, Pair):
            return _own_step(known, search.judge, course, step, "")
        ends.append((search.judge, step))
    ends.append((judges.noisy, located_result(course, judges.noisy, known.graph)))
    named = {commit for _, end in ends for each in end.steps for commit in (*each.pair, *each.commits)}
    trees.keep_known_revisions(
        connection, [known.commits[commit] for commit in sorted(named & known.commits.keys())]
    )
    reason = take_culprits(
        connection, known.row, known.changes, ends, course.located.keys(), known.graph, now
    )
    bisections.end_bisection(connection, known.row.id, reason, now)
    return None


def _own_step(known: BisectionState, judge: Judge, course: Course, pair: Pair, what: str) -> NextStep:
    """Returns a step on the bisection's own platform in its own mode.

    The boots depend on the noise, and on the number of comparisons that the bisection may need.
    """
    row = known.row
    ends = judge.measured.get(Pair(row.base, row.head), {})
    changed = [ends[series] for series in judge.sizes if series in ends]
    boots = boots_of(changed, judge.exact, steps_of(len(known.graph.parents)) + course.verified)
    return NextStep(
        pair=pair, platform=row.platform, mode=row.mode, boots=boots, exact=judge.exact, what=what
    )


def _setup_of(step: NextStep) -> Setup:
    """In walltime a layout for each boot: more boots of the same layouts would tell little more."""
    if step.exact:
        return ONLY_AFFECTED
    return Setup(layouts=int(step.boots)) if step.mode == "walltime" else NO_SETUP


def _ask(connection: Connection[Any], known: BisectionState, step: NextStep, now: datetime) -> None:
    row, pair = known.row, step.pair
    trees.keep_known_revisions(
        connection, [known.commits[commit] for commit in pair if commit in known.commits]
    )
    asked = RequestDraft(
        tree=row.tree,
        base=pair.base,
        head=pair.head,
        targets=[(step.platform, step.mode)],
        suites=row.suites,
        profile=row.profile,
        boots=step.boots,
        priority="watch",
        note=f"{row.branch}: bisection of {row.base[:12]}..{row.head[:12]}{step.what}",
        setup=_setup_of(step),
    )
    asker = tokens.keep_asker(connection, ASKER, now)
    elsewhere = "" if step.mode == row.mode else f" {step.platform} {step.mode}"
    key = f"bisect {row.id} {pair.base} {pair.head}{elsewhere}"
    made = store_request(connection, asked, key=key, token_id=asker, who=ASKER, now=now)
    base, head = (trees.keep_revision(connection, trees.RevisionFacts(commit=commit)) for commit in pair)
    new = NewStep(
        platform=step.platform,
        mode=step.mode,
        base_revision_id=base,
        head_revision_id=head,
        state="asked",
        boots=step.boots,
        request_id=made.row.id,
        comparison_id=None,
    )
    bisections.insert_step(connection, row.id, new, now)
