"""The data of a search for culprits: the question, the pairs it requests, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from cliffwatch.stats.history.culprits.graph import Graph

ChangeDirection = Literal["regression", "improvement"]
RowDirection = Literal["regression", "improvement", "none", "open"]
"""How a row of a commit compares with its reference; `open` if it could not be measured or decided."""


class Pair(NamedTuple):
    """A commit to compare with a reference."""

    base: str
    head: str


@dataclass(frozen=True, slots=True)
class RowStep:
    """One row of a pair."""

    way: RowDirection
    base: float | None = None
    """Value of the base; None if it has none."""
    head: float | None = None
    """Value of the head; None if it has none."""
    smallest: float = 0.0
    """Smallest difference that counts, in the values' unit."""

    @property
    def difference(self) -> float:
        """Difference head - base, in the values' unit; 0 if either is missing."""
        return 0.0 if self.base is None or self.head is None else self.head - self.base


NOT_JUDGED = RowStep("open")


@dataclass(frozen=True, slots=True)
class PairResult:
    """Result of a pair, by row. A missing row is open; a commit that does not build has none."""

    rows: Mapping[str, RowStep] = field(default_factory=dict)

    def row(self, name: str) -> RowStep:
        return self.rows.get(name, NOT_JUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to search for."""

    graph: Graph
    good: str
    bad: str
    sought: ChangeDirection
    exact: bool
    """True if values repeat.

    Then comparing two measured commits is free, and changes beside the culprit are searched too.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change of one row."""

    row: str
    way: ChangeDirection
    commits: tuple[str, ...]
    """The culprit; several commits if any of them may be, oldest first."""
    pair: Pair
    """Shows the change: the commit before, and the last of `commits`."""
    own: float | None = None
    """Difference that a merge itself makes, beyond the commits it brought in, in the row's unit.

    None if `pair` shows exactly this change.
    """


class Mark(NamedTuple):
    """A verdict to pass to `git bisect` about a commit."""

    word: Literal["good", "bad", "skip"]
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Result of a search."""

    rows: tuple[str, ...]
    """Rows that show the change between good and bad."""
    steps: tuple[Step, ...]
    """All steps of these rows, those in the direction sought first."""
    marks: tuple[Mark, ...]
    """Verdicts that lead `git bisect` to the first step."""
    cut: tuple[str, ...] = ()
    """Rows whose search ended at MOST_SEARCHES."""
