"""Narrows confirmed changes to the commits that made them: asks for one comparison after another, and takes what the search says.

The search itself is the library's (cliffwatch.stats.history.culprits). What it has measured lies in the database; the next question, or the
answer, follows from that alone, so a result that comes late, twice or never changes nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.formats.setup import NO_SETUP
from cliffwatch.identities import digest_of
from cliffwatch.samples import CaseKey
from cliffwatch.stats.history.culprits.graph import Graph
from cliffwatch.stats.history.culprits.question import Found, Judged, Pair, Question, Sought
from cliffwatch.stats.history.culprits.search import next_pair
from cliffwatch_service.history.culprits import take_culprits
from cliffwatch_service.history.follow import ONLY_AFFECTED
from cliffwatch_service.history.git import GitProblem, commit_graph
from cliffwatch_service.history.judging import Judge, Rows, boots_of
from cliffwatch_service.history.watching.confirming import Answered, answer_of, rows_by_series, unchanged_cases
from cliffwatch_service.jobs.requests import Asked, ask
from cliffwatch_service.store import database, series, tokens, trees
from cliffwatch_service.store.follows import ASKER
from cliffwatch_service.store.history import bisections
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.bisections import BisectionRow, NewStep, StepRow
from cliffwatch_service.store.history.changes import WideChangeRow
from cliffwatch_service.store.series import SeriesRow

MOST_OPEN = 4
"""Comparisons of bisections that are under way at a time; the others wait, the oldest first."""

SOONEST = timedelta(hours=1)
"""Until the graph is looked for again where git could not fetch it."""


@dataclass(frozen=True, slots=True)
class Search:
    """The rows of a bisection that one search is for, and what is known of them. The first search without an answer has the next question."""

    question: Question
    judge: Judge

    def next(self) -> Pair | Found:
        judged: dict[Pair, Judged] = {}
        while True:
            pair = next_pair(self.question, judged)
            if isinstance(pair, Found):
                return pair
            known = self.judge.judged(pair)
            if known is None:
                return pair
            judged[pair] = known


def bisect_changes(connection: Connection[Any], git_dir: Path, now: datetime) -> int:
    """Starts what is to be bisected, takes the results that came, and asks for the next ones; how many requests it made."""
    if database.is_demonstration(connection):
        return 0
    for each in bisections.unbisected_ranges(connection):
        bisections.insert_bisection(connection, each, now)
    rows = bisections.open_bisections(connection)
    steps = {row.id: _settled(connection, row, now) for row in rows}
    room = MOST_OPEN - sum(_open(own) for own in steps.values())
    asked = 0
    for row in rows:
        if asked < room and not _open(steps[row.id]):
            asked += _go_on(connection, row, steps[row.id], git_dir, now)
    return asked


def _open(steps: Sequence[StepRow]) -> bool:
    return any(step.state == "asked" for step in steps)


def _settled(connection: Connection[Any], row: BisectionRow, now: datetime) -> list[StepRow]:
    """The steps, after the answer to the open one was taken if it is there."""
    for step in bisections.steps_of(connection, row.id):
        if step.state != "asked" or step.request_id is None:
            continue
        answer = answer_of(connection, step.request_id, row.platform, row.mode, now)
        if isinstance(answer, Answered):
            bisections.end_step(
                connection, step.id, "measured", comparison_id=answer.comparison_id, reason=None, now=now
            )
        elif answer is not None:
            bisections.end_step(connection, step.id, "skipped", comparison_id=None, reason=answer.reason, now=now)
    return bisections.steps_of(connection, row.id)


def _go_on(connection: Connection[Any], row: BisectionRow, steps: list[StepRow], git_dir: Path, now: datetime) -> bool:
    """Asks for the next pair, or takes the end; whether it asked."""
    changes = stored_changes.confirmed_between(
        connection, row.base_revision_id, row.head_revision_id, row.platform, row.mode
    )
    if not changes:
        bisections.end_bisection(connection, row.id, "its changes were refuted or superseded meanwhile", now)
        return False
    if row.reason is not None and row.looked is not None and now - row.looked < SOONEST:
        return False
    facts = commit_graph(git_dir / f"{digest_of(row.tree)}.git", row.tree, row.branch, row.base, row.head)
    problem = facts.message if isinstance(facts, GitProblem) else None
    bisections.set_looked(connection, row.id, problem, now)
    if isinstance(facts, GitProblem):
        return False
    if not steps:
        steps = _begin(connection, row, changes, now)
    by_commit = {each.commit: each for each in facts}
    graph = Graph({commit: tuple(each.parents) for commit, each in by_commit.items()})
    searches = _searches(connection, row, changes, steps, graph)
    ends: list[tuple[Search, Found]] = []
    for search in searches:
        step = search.next()
        if isinstance(step, Pair):
            trees.keep_known_revisions(connection, [by_commit[commit] for commit in step if commit in by_commit])
            _ask(connection, row, step, search, now)
            return True
        ends.append((search, step))
    named = {commit for _, found in ends for each in found.steps for commit in (*each.pair, *each.commits)}
    trees.keep_known_revisions(connection, [by_commit[commit] for commit in sorted(named & by_commit.keys())])
    reason = take_culprits(connection, row, changes, [(search.judge, found) for search, found in ends], graph, now)
    bisections.end_bisection(connection, row.id, reason, now)
    return False


def _begin(
    connection: Connection[Any], row: BisectionRow, changes: Sequence[WideChangeRow], now: datetime
) -> list[StepRow]:
    """The ends were compared by whatever confirmed the changes."""
    comparison = next((each.comparison_id for each in changes if each.comparison_id is not None), None)
    if comparison is None:
        return []
    ends = NewStep(
        base_revision_id=row.base_revision_id,
        head_revision_id=row.head_revision_id,
        state="measured",
        boots="auto",
        request_id=None,
        comparison_id=comparison,
    )
    bisections.insert_step(connection, row.id, ends, now)
    return bisections.steps_of(connection, row.id)


def _searches(
    connection: Connection[Any],
    row: BisectionRow,
    changes: Sequence[WideChangeRow],
    steps: Sequence[StepRow],
    graph: Graph,
) -> list[Search]:
    """Counted series first, whose comparisons others share; of each kind those that got worse, then those that got better."""
    measured: dict[Pair, Rows] = {}
    unchanged: dict[Pair, frozenset[str]] = {}
    about = series.series_rows(connection, [each.series_id for each in changes])
    for step in steps:
        if step.comparison_id is not None:
            pair = Pair(step.base, step.head)
            measured[pair] = rows_by_series(connection, step.comparison_id, row.platform, row.mode)
            left_out = unchanged_cases(connection, step.comparison_id)
            unchanged[pair] = frozenset(each.digest for each in about.values() if _case(each) in left_out)
    skipped = frozenset(Pair(step.base, step.head) for step in steps if step.state == "skipped")
    exact = _exact(about.values())
    searches = []
    for counts in (True, False):
        sizes = {each.series: each.size for each in changes if (each.series in exact) == counts}
        judge = Judge(exact=counts, sizes=sizes, measured=measured, skipped=skipped, unchanged=unchanged)
        ways: tuple[Sought, ...] = ("regression", "improvement") if sizes else ()
        searches += [
            Search(Question(graph=graph, good=row.base, bad=row.head, sought=way, exact=counts), judge) for way in ways
        ]
    return searches


def _exact(rows: Iterable[SeriesRow]) -> set[str]:
    """The series of counted values, by digest."""
    catalogue = load_catalogue()
    return {
        row.digest for row in rows if catalogue.traits(_case(row), row.metric, row.unit, row.mode).assume == "exact"
    }


def _case(row: SeriesRow) -> CaseKey:
    return CaseKey(row.suite, row.benchmark, tuple(sorted((name, value) for name, value in row.params)))


def _ask(connection: Connection[Any], row: BisectionRow, pair: Pair, search: Search, now: datetime) -> None:
    judge = search.judge
    ends: Rows = judge.measured.get(Pair(row.base, row.head), {})
    boots = boots_of(
        [ends[name] for name in judge.sizes if name in ends], judge.exact, len(search.question.graph.parents)
    )
    asked = Asked(
        tree=row.tree,
        base=pair.base,
        head=pair.head,
        targets=[(row.platform, row.mode)],
        suites=row.suites,
        profile=row.profile,
        boots=boots,
        priority="watch",
        note=f"{row.branch}: bisection of {row.base[:12]}..{row.head[:12]}",
        setup=ONLY_AFFECTED if judge.exact else NO_SETUP,
    )
    asker = tokens.keep_asker(connection, ASKER, now)
    made = ask(connection, asked, key=f"bisect {row.id} {pair.base} {pair.head}", token_id=asker, who=ASKER, now=now)
    base, head = (trees.keep_revision(connection, trees.RevisionFacts(commit=commit)) for commit in pair)
    step = NewStep(
        base_revision_id=base,
        head_revision_id=head,
        state="asked",
        boots=boots,
        request_id=made.row.id,
        comparison_id=None,
    )
    bisections.insert_step(connection, row.id, step, now)
