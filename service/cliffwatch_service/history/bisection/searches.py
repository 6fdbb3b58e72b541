"""The searches of a bisection, with the results of its steps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.samples import CaseKey
from cliffwatch.stats.history.culprits.graph import Graph
from cliffwatch.stats.history.culprits.question import (
    ChangeDirection,
    Pair,
    PairResult,
    Question,
    SearchResult,
)
from cliffwatch.stats.history.culprits.search import next_pair
from cliffwatch_service.history.bisection.judging import Judge
from cliffwatch_service.history.watching.confirming import Rows, rows_by_series, unchanged_cases
from cliffwatch_service.store import series
from cliffwatch_service.store.history.bisections import BisectionRow, StepRow
from cliffwatch_service.store.history.changes import WideChangeRow
from cliffwatch_service.store.series import SeriesRow


@dataclass(frozen=True, slots=True)
class Search:
    """One search of a bisection. The first search without a result determines the next comparison."""

    question: Question
    judge: Judge

    def next(self) -> Pair | SearchResult:
        """Returns the next pair to measure, or the result of the search."""
        judged: dict[Pair, PairResult] = {}
        while True:
            pair = next_pair(self.question, judged)
            if isinstance(pair, SearchResult):
                return pair
            known = self.judge.judged(pair)
            if known is None:
                return pair
            judged[pair] = known


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """The judges of the series that changed."""

    counted: Judge
    noisy: Judge
    about: Mapping[str, SeriesRow]
    """The series by digest."""


def judges_of(
    connection: Connection[Any], row: BisectionRow, changes: Sequence[WideChangeRow], steps: Sequence[StepRow]
) -> Judges:
    """Builds the judges from the steps on the bisection's own platform in its own mode."""
    measured: dict[Pair, Rows] = {}
    unchanged: dict[Pair, frozenset[str]] = {}
    own = [step for step in steps if (step.platform, step.mode) == (row.platform, row.mode)]
    about = {
        each.digest: each
        for each in series.series_rows(connection, [each.series_id for each in changes]).values()
    }
    for step in own:
        if step.comparison_id is not None:
            pair = Pair(step.base, step.head)
            measured[pair] = rows_by_series(connection, step.comparison_id, row.platform, row.mode)
            left_out = unchanged_cases(connection, step.comparison_id)
            unchanged[pair] = frozenset(each.digest for each in about.values() if _case(each) in left_out)
    skipped = frozenset(Pair(step.base, step.head) for step in own if step.state == "skipped")
    exact = _exact(about.values())
    counted, noisy = (
        Judge(
            exact=counts,
            sizes={each.series: each.size for each in changes if (each.series in exact) == counts},
            differences={each.series: _difference(each) for each in changes if each.size is None},
            measured=measured,
            skipped=skipped,
            unchanged=unchanged,
        )
        for counts in (True, False)
    )
    return Judges(counted=counted, noisy=noisy, about=about)


def searches_of(row: BisectionRow, graph: Graph, judges: Iterable[Judge]) -> list[Search]:
    """Returns two searches for each judge with series: for regressions, then for improvements.

    Pass the judge of counted series first: the other searches share its comparisons.
    """
    ways: tuple[ChangeDirection, ...] = ("regression", "improvement")
    return [
        Search(Question(graph=graph, good=row.base, bad=row.head, sought=way, exact=judge.exact), judge)
        for judge in judges
        if judge.sizes
        for way in ways
    ]


def _difference(change: WideChangeRow) -> float:
    """Returns the difference head - base of a change without a percentage, in its unit."""
    assert change.base_value is not None
    assert change.head_value is not None
    return change.head_value - change.base_value


def _exact(rows: Iterable[SeriesRow]) -> set[str]:
    """Returns the digests of the series of counted values."""
    catalogue = load_catalogue()
    return {
        row.digest
        for row in rows
        if catalogue.traits(_case(row), row.metric, row.unit, row.mode).assume == "exact"
    }


def _case(row: SeriesRow) -> CaseKey:
    return CaseKey(row.suite, row.benchmark, tuple(sorted((name, value) for name, value in row.params)))
