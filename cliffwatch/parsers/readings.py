"""The content of one raw output: samples, and the lines that could not be read."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from cliffwatch.counting import count_noun
from cliffwatch.samples import Assumed, CaseKey, CaseStatus, Sample, Stage

_LONGEST = 400
"""Characters of a problem's text or reason."""

MOST_ALIKE = 100
"""Problems of one kind, and kinds."""

_OTHER_KIND = "it could not be read"


class BootOrigin(NamedTuple):
    """The boot of a run in which a sample was taken, where the output says it."""

    boot: int
    block: int
    stage: Stage
    layout: str | None = None


class Found(NamedTuple):
    """A sample as one output gives it, and where it is of.

    The suite of its case is empty where the output does not say it: the catalogue may
    (`cliffwatch.importing`). `arm` names the side of a run that it is of, empty where the output holds one
    side; `origin` its boot, None where the output does not say it.
    """

    sample: Sample
    arm: str = ""
    origin: BootOrigin | None = None
    doubted: bool = False
    """A problem says that it must not be believed: it is shown and never compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line that was not what its format says, or a result that must not be believed.

    `line` counts from 1; 0 means the output as a whole. `text` is the line as it came, cut to 400 characters.
    """

    line: int
    text: str
    reason: str
    lost: "Lost | None" = None
    """The result that is lost by it; None of a line that belongs to no case."""

    lines: int = 1
    """How many lines it stands for: more than a hundred of one kind are not told one by one."""


class Lost(NamedTuple):
    """A result that an output should have and has not."""

    case: CaseKey
    status: CaseStatus = "failed"
    metric: str = ""
    """The only metric that is lost; empty: all of the case."""
    why: str = ""
    """What a verdict says of it; empty: what the problem says."""
    arm: str = ""


def problem_at(line: int, text: str, reason: str, lost: Lost | None = None) -> Problem:
    """A problem with text and reason cut to the length of one."""
    return Problem(line=line, text=text[:_LONGEST], reason=reason[:_LONGEST], lost=lost)


class ProblemList(list[Problem]):
    """The problems of an output. Of lines of one kind that belong to no case, the first hundred are kept and
    the others counted.
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
        """Adds a line that is not read, by the million if need be."""
        if reason in self._more:
            self._counts[reason] += 1
        else:
            self.append(problem_at(line, text, reason))

    def take_back(self, reason: str) -> None:
        """Forgets the line that was added last, by its reason."""
        self._counts[reason] -= 1
        if self._counts[reason] < MOST_ALIKE:
            del self[-1]

    def in_order(self) -> tuple[Problem, ...]:
        """By the lines of the output; after those of a kind, how many more there are."""
        return in_order([*self, *self._rest()])

    def _rest(self) -> Iterator[Problem]:
        for kind, first in self._more.items():
            count = self._counts[kind] - MOST_ALIKE
            if count > 0:
                text = f"and {count_noun(count, 'more line')} that {'is' if count == 1 else 'are'} not read"
                yield replace(first, text=text, reason=kind, lines=count)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """By the lines of the output."""
    return tuple(sorted(problems, key=lambda problem: problem.line))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmDescription:
    """What an output says of one of its arms: settings under which it was measured, and facts that are its
    own.
    """

    settings: Mapping[str, str]
    facts: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    """Sentences without which nothing of the arm should be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """All that a parser read. Parsers are total: whatever the input, this comes back and nothing is raised.

    `found` are the samples in the order of the output. `assumed` is what the output itself says of a
    metric, by metric and unit; `arms` what it says of each arm that has samples.
    """

    found: Sequence[Found]
    problems: tuple[Problem, ...]
    assumed: Mapping[tuple[str, str], Assumed] = field(default_factory=dict)
    arms: Mapping[str, ArmDescription] = field(default_factory=dict)

    @property
    def samples(self) -> tuple[Sample, ...]:
        return tuple(each.sample for each in self.found)
