"""The result of parsing one output: samples, and problems with lines."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from cliffwatch.counting import count_noun
from cliffwatch.samples import Assumed, CaseKey, CaseStatus, Sample, Stage

_LONGEST = 400
"""Characters of a problem's text or reason; the rest is cut off."""

MOST_ALIKE = 100
"""The most problems of one kind that are kept, and the most kinds."""

_OTHER_KIND = "it could not be read"


class BootOrigin(NamedTuple):
    """The boot that measured a sample. For the fields see `Boot`."""

    boot: int
    block: int
    stage: Stage
    layout: str | None = None


class Found(NamedTuple):
    """A sample of an output, with its arm and boot."""

    sample: Sample
    """Its suite is empty if the output does not name it. `cliffwatch.importing` then asks the catalogue."""
    arm: str = ""
    """Empty if the output has only one arm."""
    origin: BootOrigin | None = None
    """None if the output does not say which boot measured the sample."""
    doubted: bool = False
    """True if a problem says why the value is not credible. It is shown but never compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line or a member that violates its format, or a result that is not credible."""

    reason: str
    file: str = ""
    """The path of the file, where several are read."""
    line: int = 0
    """From 1; 0 means the output as a whole."""
    text: str = ""
    """The original line, cut to 400 characters."""
    member: str = ""
    """Of a document, the member, such as `plan.boots.0.index`; empty for the document as a whole."""
    lost: "Lost | None" = None
    """The result that is lost because of it; None if the line belongs to no case."""

    lines: int = 1
    """The number of lines it represents: after a hundred problems of one kind, the rest are only counted."""

    def __str__(self) -> str:
        if self.file:
            return f"{self.file}:{self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"
        place = self.member or (f"line {self.line}" if self.line else "")
        return f"{place}: {self.reason}" if place else self.reason


class Lost(NamedTuple):
    """A result that is missing from an output."""

    case: CaseKey
    status: CaseStatus = "failed"
    metric: str = ""
    """The lost metric; empty if all metrics of the case are lost."""
    why: str = ""
    """The reason for a verdict to show; if empty, it shows the problem's reason."""
    arm: str = ""
    """Empty if the output has only one arm."""


def problem_at(line: int, text: str, reason: str, lost: Lost | None = None) -> Problem:
    """Creates a problem, with text and reason cut to 400 characters."""
    return Problem(line=line, text=text[:_LONGEST], reason=reason[:_LONGEST], lost=lost)


class ProblemList(list[Problem]):
    """The problems of an output.

    Of the lines that belong to no case, it keeps the first hundred of each kind and counts the rest.
    """

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counter[str] = Counter()
        self._more: dict[str, Problem] = {}

    def append(self, problem: Problem) -> None:
        if problem.lost is not None:
            super().append(problem)
            return
        kind = (
            problem.reason
            if problem.reason in self._counts or len(self._counts) < MOST_ALIKE
            else _OTHER_KIND
        )
        self._counts[kind] += 1
        if self._counts[kind] <= MOST_ALIKE:
            super().append(problem)
        else:
            self._more.setdefault(kind, problem)

    def skip(self, line: int, text: str, reason: str) -> None:
        """Adds a skipped line. Cheap enough for millions of lines."""
        if reason in self._more:
            self._counts[reason] += 1
        else:
            self.append(problem_at(line, text, reason))

    def take_back(self, reason: str) -> None:
        """Removes the problem added last. `reason` is that problem's reason."""
        self._counts[reason] -= 1
        if self._counts[reason] < MOST_ALIKE:
            del self[-1]

    def in_order(self) -> tuple[Problem, ...]:
        """Sorts the problems by line, and adds one problem per kind for the lines that were only counted."""
        return in_order([*self, *self._rest()])

    def _rest(self) -> Iterator[Problem]:
        for kind, first in self._more.items():
            count = self._counts[kind] - MOST_ALIKE
            if count > 0:
                text = f"and {count_noun(count, 'more line')} that {'was' if count == 1 else 'were'} not read"
                yield replace(first, text=text, reason=kind, lines=count)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorts problems by line."""
    return tuple(sorted(problems, key=lambda problem: problem.line))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmDescription:
    """What an output says about one of its arms."""

    settings: Mapping[str, str]
    """The conditions of the measurement."""
    facts: Mapping[str, str]
    """Facts about this arm alone, such as `commit`."""
    warnings: tuple[str, ...] = ()
    """Sentences that must accompany every result of the arm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The result of a parser. Parsers never raise: they return this for any input."""

    found: Sequence[Found]
    """The samples, in the order of the output."""
    problems: tuple[Problem, ...]
    assumed: Mapping[tuple[str, str], Assumed] = field(default_factory=dict)
    """What the output declares about its metrics, by metric and unit."""
    arms: Mapping[str, ArmDescription] = field(default_factory=dict)
    """What the output says about each arm that has samples."""

    @property
    def samples(self) -> tuple[Sample, ...]:
        return tuple(each.sample for each in self.found)
