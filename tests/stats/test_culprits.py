"""The search for culprits over random histories: it names what was planted, and measures no commit twice."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import hypothesis.strategies as st
import pytest
from hypothesis import given

from cliffwatch.stats.history.culprits.graph import Graph
from cliffwatch.stats.history.culprits.question import Pair, PairResult, Question, RowStep, SearchResult
from cliffwatch.stats.history.culprits.search import next_pair, search

LEVEL = 100.0
SMALLEST = 0.5


@dataclass
class Host:
    """Measures commits: a value is the sum of the effects in a commit's history. `exact` compares what was
    measured for nothing.
    """

    graph: Graph
    effects: Mapping[str, Mapping[str, float]]
    skipped: frozenset[str] = frozenset()
    exact: bool = True
    measured: list[str] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)

    def value(self, row: str, commit: str) -> float:
        return LEVEL + sum(self.effects[row].get(each, 0.0) for each in self.graph.ancestors(commit))

    def compare(self, pair: Pair) -> PairResult:
        self.pairs.append(pair)
        self.measured += [commit for commit in dict.fromkeys(pair) if commit not in self.measured]
        if self.skipped & set(pair):
            return PairResult()
        return PairResult({row: self._row(row, pair) for row in self.effects})

    def _row(self, row: str, pair: Pair) -> RowStep:
        base, head = self.value(row, pair.base), self.value(row, pair.head)
        difference = head - base
        way = "none" if abs(difference) < SMALLEST else "regression" if difference > 0 else "improvement"
        return RowStep(way, base, head, SMALLEST)

    def find(self, good: str, bad: str, sought: str = "regression") -> SearchResult:
        asked = search(Question(graph=self.graph, good=good, bad=bad, sought=sought, exact=self.exact))
        pair = next(asked)
        while True:
            try:
                pair = asked.send(self.compare(pair))
            except StopIteration as end:
                return end.value


def graph_of(parents: Mapping[int, tuple[int, ...]]) -> Graph:
    """Commits by number, listed newest first as git does."""
    return Graph(
        {
            str(commit): tuple(map(str, of))
            for commit, of in sorted(parents.items(), key=lambda each: each[0], reverse=True)
        }
    )


def straight(count: int) -> Graph:
    """A line of `count` commits upon commit 0."""
    return graph_of({0: (), **{number: (number - 1,) for number in range(1, count + 1)}})


@st.composite
def histories(draw: st.DrawFn, most_parents: int = 2) -> Graph:
    """Random histories with merges: each commit has one or two of the earlier ones as parents, mostly late
    ones.
    """
    count = draw(st.integers(2, 40))
    parents: dict[int, tuple[int, ...]] = {0: ()}
    for number in range(1, count + 1):
        reach = st.integers(max(0, number - draw(st.sampled_from([1, 1, 3, 12]))), number - 1)
        of = draw(st.lists(reach, min_size=1, max_size=draw(st.integers(1, most_parents)), unique=True))
        parents[number] = tuple(of)
    return graph_of(parents)


def ends_of(draw: st.DrawFn, graph: Graph) -> tuple[str, str, list[str]]:
    """A good and a bad commit, and what lies between them."""
    bad = draw(st.sampled_from([commit for commit in graph.parents if commit != "0"]))
    good = draw(st.sampled_from(sorted(graph.ancestors(bad) - {bad})))
    return good, bad, sorted(graph.brought_in(bad, good))


@given(st.data())
def test_the_planted_commit_is_named_wherever_it_is(data: st.DataObject) -> None:
    graph = data.draw(histories(most_parents=3))
    good, bad, between = ends_of(data.draw, graph)
    planted = data.draw(st.sampled_from(between))
    host = Host(graph, {"get": {planted: 3.0}}, exact=data.draw(st.booleans()))

    (step,) = {(each.commits, each.way, each.row) for each in host.find(good, bad).steps}

    assert planted in step[0]
    assert step[1:] == ("regression", "get")
    told_apart = all(
        len(graph.merge_bases(*of)) == 1 for each in between if len(of := graph.parents_of(each)) == 2
    ) and all(len(graph.parents_of(each)) < 3 for each in between)
    assert not told_apart or step[0] == (planted,)
    assert len(host.pairs) == len(set(host.pairs))


@given(st.data())
def test_skips_leave_a_set_with_the_planted_commit_in_it(data: st.DataObject) -> None:
    graph = data.draw(histories())
    good, bad, between = ends_of(data.draw, graph)
    planted = data.draw(st.sampled_from(between))
    skipped = frozenset(data.draw(st.lists(st.sampled_from(sorted(graph.parents)), max_size=12))) - {
        good,
        bad,
    }
    host = Host(graph, {"get": {planted: 3.0}}, skipped=skipped, exact=data.draw(st.booleans()))

    found = host.find(good, bad)

    assert any(planted in step.commits for step in found.steps)
    assert len(host.pairs) == len(set(host.pairs))


@given(st.data())
def test_whoever_is_named_alone_made_that_change(data: st.DataObject) -> None:
    """Of several planted changes, among them merges that make one themselves and changes that cancel each
    other.
    """
    graph = data.draw(histories())
    good, bad, between = ends_of(data.draw, graph)
    effects = data.draw(
        st.dictionaries(
            st.sampled_from(between), st.sampled_from([-5.0, -2.0, 3.0, 7.0]), min_size=1, max_size=4
        )
    )
    if any(len(graph.merge_bases(*of)) > 1 for each in between if len(of := graph.parents_of(each)) == 2):
        return
    host = Host(graph, {"get": effects})

    found = host.find(good, bad)

    for step in found.steps:
        effect = effects.get(step.commits[0], 0.0)
        assert len(step.commits) == 1
        assert (effect > 0) == (step.way == "regression"), (step, effects)
        assert effect != 0
        assert step.own is None or step.own == pytest.approx(effect)
    assert bool(found.steps) == (host.value("get", bad) - host.value("get", good) >= SMALLEST)


@given(st.integers(1, 300), st.data())
def test_a_line_takes_no_more_measurements_than_halving(count: int, data: st.DataObject) -> None:
    planted = data.draw(st.integers(1, count))
    host = Host(straight(count), {"get": {str(planted): 3.0}}, exact=data.draw(st.booleans()))

    (step,) = host.find("0", str(count)).steps

    assert step.commits == (str(planted),)
    assert step.pair == Pair(str(planted - 1), str(planted))
    assert len(host.measured) - 1 <= math.ceil(math.log2(count)) + 2
    assert len(host.pairs if not host.exact else host.measured) <= math.ceil(math.log2(count)) + 2


MERGE = graph_of({0: (), 1: (0,), 2: (1,), 3: (0,), 4: (3,), 5: (2, 4), 6: (5,)})
"""0-1-2 and 0-3-4 merged as 5, and 6 on top of it."""


@pytest.mark.parametrize("exact", [True, False], ids=["icount", "walltime"])
def test_of_a_merge_whose_sides_both_changed_both_are_found(exact: bool) -> None:
    found = Host(MERGE, {"get": {"1": -2.0, "3": 3.0}}, exact=exact).find("0", "6")

    assert {(step.commits, step.way) for step in found.steps} == {
        (("3",), "regression"),
        (("1",), "improvement"),
    }


def test_what_is_slower_first_and_faster_on_the_side_is_found_as_well() -> None:
    found = Host(MERGE, {"get": {"1": 3.0, "4": -2.0}}).find("0", "6")

    assert [(step.commits, step.way) for step in found.steps] == [
        (("1",), "regression"),
        (("4",), "improvement"),
    ]


def test_a_change_that_only_the_merge_makes_is_the_merges() -> None:
    (step,) = Host(MERGE, {"get": {"5": 3.0}}).find("0", "6").steps

    assert step.commits == ("5",)


def test_a_merge_that_adds_to_what_it_brings_in_is_named_with_its_own_part() -> None:
    found = Host(MERGE, {"get": {"3": 3.0, "5": 4.0}}).find("0", "6")

    assert [(step.commits, step.own) for step in found.steps] == [(("3",), None), (("5",), 4.0)]


def test_what_one_side_had_from_the_other_is_not_searched_on_the_side() -> None:
    """3 merged 1 back before it was merged itself: what 1 changed, the merge brings in from nowhere."""
    graph = graph_of({0: (), 1: (0,), 2: (0,), 3: (2, 1), 4: (3,), 5: (1,), 6: (5, 4)})
    found = Host(graph, {"get": {"1": -2.0, "4": 3.0}}).find("0", "6")

    assert {(step.commits, step.way) for step in found.steps} == {
        (("4",), "regression"),
        (("1",), "improvement"),
    }


def test_rows_share_what_is_measured_and_have_culprits_of_their_own() -> None:
    host = Host(straight(64), {"get": {"9": 3.0}, "put": {"9": 3.0}, "walk": {"40": 3.0}, "still": {}})
    found = host.find("0", "64")

    assert {(step.row, step.commits) for step in found.steps} == {
        ("get", ("9",)),
        ("put", ("9",)),
        ("walk", ("40",)),
    }
    assert found.rows == ("get", "put", "walk")
    assert len(host.measured) <= 2 + 6 + 5


def test_of_exact_values_what_was_measured_serves_the_search_for_what_else_changed() -> None:
    """Two changes among 64 commits take 11 commits besides the good one; were each line halved anew, 13."""
    host = Host(straight(64), {"get": {"3": 3.0, "20": -2.0}})
    found = host.find("0", "64")

    assert {step.commits for step in found.steps} == {("3",), ("20",)}
    assert len(host.measured) == 12


def test_where_the_ends_do_not_differ_nothing_more_is_measured() -> None:
    host = Host(straight(9), {"get": {"4": -3.0}})

    assert host.find("0", "9").steps == ()
    assert host.pairs == [Pair("0", "9")]


def test_a_history_of_many_small_steps_ends_and_says_so() -> None:
    host = Host(straight(64), {"get": {str(number): 0.7 for number in range(1, 65)}})

    found = host.find("0", "64")

    assert found.cut == ("get",)
    assert 1 < len(found.steps) <= 16


@given(st.data())
def test_the_next_pair_follows_from_what_is_judged(data: st.DataObject) -> None:
    """As a bisection that was interrupted goes on: nothing judged is asked for again, and the end is the
    same.
    """
    graph = data.draw(histories())
    good, bad, between = ends_of(data.draw, graph)
    host = Host(graph, {"get": {data.draw(st.sampled_from(between)): 3.0}})
    question = Question(graph=graph, good=good, bad=bad, sought="regression", exact=True)
    judged: dict[Pair, PairResult] = {}
    while isinstance(asked := next_pair(question, judged), Pair):
        assert asked not in judged
        judged[asked] = host.compare(asked)

    assert asked == Host(graph, host.effects).find(good, bad)


@given(st.data())
def test_a_line_runs_along_first_parents_and_keeps_its_start_below_it(data: st.DataObject) -> None:
    graph = data.draw(histories())
    good, bad, _ = ends_of(data.draw, graph)
    line = graph.line(good, bad)

    assert (line[0], line[-1]) == (good, bad)
    assert all(good in graph.ancestors(commit) for commit in line)
    for before, commit in itertools.pairwise(line):
        having = [parent for parent in graph.parents_of(commit) if good in graph.ancestors(parent)]
        assert before == having[0]
