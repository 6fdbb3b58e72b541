"""Searches for the commits that changed rows between a good and a bad commit.

The line of first parents is searched by halves, as `git bisect` does. A merge is searched from the side: the
commits it brought in are compared with the point where their side began. A side that shows the change is
searched as a line of its own. A merge itself is named only if no side shows the change.
"""

from collections.abc import Generator, Mapping
from typing import NamedTuple

from cliffwatch.stats.history.culprits.question import (
    ChangeDirection,
    Mark,
    Pair,
    PairResult,
    Question,
    RowDirection,
    SearchResult,
    Step,
)

MOST_SEARCHES = 16
"""Lines searched per row. A history of many small steps ends there, and the result says so."""

Asked = Generator[Pair, PairResult, SearchResult]


def next_pair(question: Question, judged: Mapping[Pair, PairResult]) -> Pair | SearchResult:
    """The pair to compare next, given the `judged` pairs, or the result. No pair is requested twice."""
    asked = search(question)
    try:
        pair = next(asked)
        while pair in judged:
            pair = asked.send(judged[pair])
    except StopIteration as end:
        found: SearchResult = end.value
        return found
    return pair


def search(question: Question) -> Asked:
    """Runs the search as a generator: yields pairs, receives their results, returns the result of the search.

    The first pair is good and bad.
    """
    return Search(question).pairs()


Steps = Generator[Pair, PairResult, list[Step]]


class _Line(NamedTuple):
    """Commits that are searched for one row in one direction. The first commit is the reference."""

    commits: tuple[str, ...]
    row: str
    way: ChangeDirection
    marked: bool
    """True if `git bisect` is to follow this line."""

    def part(self, first: int, last: int, way: ChangeDirection) -> "_Line":
        return _Line(self.commits[first : last + 1], self.row, way, marked=False)


class Search:
    """A search in progress."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._graph = question.graph
        self._judged: dict[Pair, PairResult] = {}
        self._marks: list[Mark] = []
        self._searches: dict[str, int] = {}

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks so far, leading to the first step."""
        return tuple(self._marks)

    def pairs(self) -> Asked:
        """Yields pairs to compare, receives their results, and returns what was found."""
        good, bad, sought = self._question.good, self._question.bad, self._question.sought
        ends = yield from self._ask(Pair(good, bad))
        rows = tuple(name for name, row in ends.rows.items() if row.way == sought)
        self._marks = [Mark("good", good), Mark("bad", bad)] if rows else []
        steps: list[Step] = []
        for number, row in enumerate(rows):
            line = self._graph.line(good, bad)
            steps += yield from self._steps(_Line(line, row, sought, marked=number == 0))
        steps.sort(key=lambda step: step.way != sought)
        cut = tuple(row for row in rows if self._searches[row] > MOST_SEARCHES)
        return SearchResult(rows=rows, steps=tuple(dict.fromkeys(steps)), marks=self.marks, cut=cut)

    def _ask(self, pair: Pair) -> Generator[Pair, PairResult, PairResult]:
        if pair not in self._judged:
            self._judged[pair] = yield pair
        return self._judged[pair]

    def _steps(self, line: _Line) -> Steps:
        """The step of a line whose last commit shows the change, and the other changes on the line."""
        self._searches[line.row] = self._searches.get(line.row, 0) + 1
        if self._searches[line.row] > MOST_SEARCHES:
            return []
        low, high = yield from self._narrowed(line)
        steps = yield from self._inside(line, low, high)
        if low:
            before = yield from self._ask(Pair(line.commits[0], line.commits[low]))
            steps += yield from self._rest(line, 0, low, before.row(line.row).way)
        last = len(line.commits) - 1
        if self._question.exact and high < last:
            after = yield from self._ask(Pair(line.commits[high], line.commits[last]))
            steps += yield from self._rest(line, high, last, after.row(line.row).way)
        return steps

    def _rest(self, line: _Line, first: int, last: int, way: RowDirection) -> Steps:
        if way not in ("regression", "improvement"):
            return []
        return (yield from self._steps(line.part(first, last, way)))

    def _narrowed(self, line: _Line) -> Generator[Pair, PairResult, tuple[int, int]]:
        """The last index without the change and the first with it; no commit between them is left to try."""
        commits = line.commits
        low, high = yield from self._known(line)
        skipped: set[int] = set()
        while True:
            left = [place for place in range(low + 1, high) if place not in skipped]
            if not left:
                return low, high
            place = left[int(len(left) * _fraction(len(skipped)))]
            judged = yield from self._ask(Pair(commits[0], commits[place]))
            way = judged.row(line.row).way
            if way == "open":
                skipped.add(place)
            elif way == line.way:
                high = place
            else:
                low = place
            self._mark(line, commits[place], way)

    def _known(self, line: _Line) -> Generator[Pair, PairResult, tuple[int, int]]:
        """Narrows a line without measuring: from pairs already judged for other rows.

        With exact values, commits measured for other pairs serve too.
        """
        low, high = 0, len(line.commits) - 1
        measured = {commit for pair in self._judged for commit in pair} if self._question.exact else set()
        for place, commit in enumerate(line.commits):
            pair = Pair(line.commits[0], commit)
            if not low < place < high or not (pair in self._judged or commit in measured):
                continue
            way = (yield from self._ask(pair)).row(line.row).way
            self._mark(line, commit, way)
            if way == line.way:
                high = place
            elif way != "open":
                low = place
        return low, high

    def _mark(self, line: _Line, commit: str, way: RowDirection) -> None:
        if line.marked:
            self._marks.append(
                Mark("skip" if way == "open" else "bad" if way == line.way else "good", commit)
            )

    def _inside(self, line: _Line, low: int, high: int) -> Steps:
        """Steps between two indexes of a line: in merged sides, or else in the line's own commits."""
        steps: list[Step] = []
        possible: list[str] = []
        explained = 0.0
        for place in range(low + 1, high + 1):
            before, commit = line.commits[place - 1], line.commits[place]
            for other in self._graph.parents_of(commit):
                if other == before or other in self._graph.ancestors(before):
                    continue
                bases = self._graph.merge_bases(before, other)
                side = yield from self._side(line, bases, other)
                steps += side.steps
                explained += side.difference
                possible += [] if side.decided else self._of_side(before, other)
            possible.append(commit)
        pair = Pair(line.commits[low], line.commits[high])
        if any(step.way == line.way for step in steps):
            return [*steps, *(yield from self._own(line, pair, possible, explained))]
        if len(possible) > 1 or self._shared(line, low, high):
            merged = self._of_side(pair.base, pair.head) if self._shared(line, low, high) else possible
            return [*steps, Step(row=line.row, way=line.way, commits=tuple(dict.fromkeys(merged)), pair=pair)]
        judged = yield from self._ask(pair)
        own = judged.row(line.row).difference - explained if explained else None
        return [Step(row=line.row, way=line.way, commits=tuple(possible), pair=pair, own=own), *steps]

    def _side(self, line: _Line, bases: tuple[str, ...], other: str) -> Generator[Pair, PairResult, "_Side"]:
        """Searches the commits that a merge brought in through another parent.

        They are compared with the point where that side began.
        """
        if not bases:
            return _Side([], 0.0, decided=False)
        base = bases[0]
        judged = (yield from self._ask(Pair(base, other))).row(line.row)
        if line.marked:
            self._marks += [Mark("good", base)] if base != self._question.good else []
            self._mark(line, other, judged.way)
        if judged.way not in ("regression", "improvement"):
            return _Side([], judged.difference, decided=judged.way == "none")
        whole = _Line(
            self._graph.line(base, other), line.row, judged.way, line.marked and judged.way == line.way
        )
        steps = yield from self._steps(whole)
        return _Side(steps, judged.difference, decided=True)

    def _of_side(self, before: str, commit: str) -> list[str]:
        """Commits in the history of `commit` but not of `before`, oldest first."""
        brought = self._graph.brought_in(commit, before)
        return [each for each in reversed(list(self._graph.parents)) if each in brought]

    def _shared(self, line: _Line, low: int, high: int) -> bool:
        """True if sides cannot be separated.

        That is so for two histories that meet in several places, and for branches of one merge with commits
        in common.
        """
        for before, commit in zip(line.commits[low:high], line.commits[low + 1 : high + 1], strict=True):
            others = [
                each for each in self._graph.parents_of(commit) if each not in self._graph.ancestors(before)
            ]
            brought = [self._graph.brought_in(each, before) for each in others]
            if sum(map(len, brought)) > len(frozenset().union(*brought)):
                return True
            if any(len(self._graph.merge_bases(before, each)) != 1 for each in others):
                return True
        return False

    def _own(self, line: _Line, pair: Pair, possible: list[str], explained: float) -> Steps:
        """The change that a merge makes itself, beyond the commits it brought in.

        Only exact values add up.
        """
        places = [line.commits.index(commit) for commit in pair]
        if not self._question.exact or len(possible) > 1 or self._shared(line, *places):
            return []
        whole = (yield from self._ask(pair)).row(line.row)
        rest = whole.difference - explained
        if whole.way == "open" or abs(rest) <= whole.smallest:
            return []
        same = (rest > 0) == (whole.difference > 0)
        way = line.way if same else _opposite(line.way)
        return [Step(row=line.row, way=way, commits=tuple(possible), pair=pair, own=rest)]


class _Side(NamedTuple):
    steps: list[Step]
    difference: float
    decided: bool


def _opposite(way: ChangeDirection) -> ChangeDirection:
    return "improvement" if way == "regression" else "regression"


def _fraction(skipped: int) -> float:
    """Where to try next, as a share of the remaining commits.

    1/2, then 1/4, 3/4, 1/8 … with each skipped commit (van der Corput).
    """
    number, share, place = skipped + 1, 0.5, 0.0
    while number:
        place += share * (number % 2)
        number //= 2
        share /= 2
    return place
