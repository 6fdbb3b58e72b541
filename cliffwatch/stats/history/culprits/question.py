"""What is asked of a search for culprits, what it asks for, and what it found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from cliffwatch.stats.history.culprits.graph import Graph

Sought = Literal["regression", "improvement"]
Way = Literal["regression", "improvement", "none", "open"]
"""How a row of a commit stands to that of its reference; `open` where it could not be measured or decided."""


class Pair(NamedTuple):
    """A commit that is compared with a reference."""

    base: str
    head: str


@dataclass(frozen=True, slots=True)
class RowStep:
    """One row of a pair: which way it goes, its values on both sides, and the smallest difference that
    counts, in the values' unit.
    """

    way: Way
    base: float | None = None
    head: float | None = None
    smallest: float = 0.0

    @property
    def difference(self) -> float:
        return 0.0 if self.base is None or self.head is None else self.head - self.base


NOT_JUDGED = RowStep("open")


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a pair, by row; a row that is missing, as all of a commit that does not build, is open."""

    rows: Mapping[str, RowStep] = field(default_factory=dict)

    def row(self, name: str) -> RowStep:
        return self.rows.get(name, NOT_JUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is searched. `exact`: values repeat, so that any two commits that were measured are compared for
    nothing, and whatever else changed beside the culprit is searched too.
    """

    graph: Graph
    good: str
    bad: str
    sought: Sought
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change of one row. `commits` is the culprit, or several of which it is one, oldest first; `pair`
    shows it: the commit before and the last of them. `own` is the difference that a merge makes besides
    what it brought in, in the row's unit; None where `pair` shows all.
    """

    row: str
    way: Sought
    commits: tuple[str, ...]
    pair: Pair
    own: float | None = None


class Mark(NamedTuple):
    """What `git bisect` is to be said of a commit."""

    word: Literal["good", "bad", "skip"]
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All steps of all rows that show the change between good and bad, those sought first; `rows` are these
    rows. `marks` lead git to the first step. `cut` names rows whose search ended at MOST_SEARCHES.
    """

    rows: tuple[str, ...]
    steps: tuple[Step, ...]
    marks: tuple[Mark, ...]
    cut: tuple[str, ...] = ()
