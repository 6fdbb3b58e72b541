"""The content of one raw output: values, and the lines that could not be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from cliffwatch.samples import Assumed, Stage

_LONGEST = 400
"""Characters of a problem's text or reason."""

NO_PARAMS: Mapping[str, str] = MappingProxyType({})


class BootOrigin(NamedTuple):
    """The boot of a run in which a value was measured, where the output says it."""

    boot: int
    block: int
    stage: Stage
    layout: str | None = None


class Value(NamedTuple):
    """One metric of one case, as one output gives it.

    `value` is the boot's number in `unit`; `samples` are the readings within the boot that it was made from, warm-up
    dropped, oldest first (empty where the format prints none). `resolution` is the smallest step, in `unit`, that the
    printed digits can show at this value: two outputs that differ by less may be equal. 0 where it is not known. `suite` is None where neither the output nor the
    catalogue says it. `arm` names the side of a run that it is of; empty where the output holds one side.
    """

    suite: str | None
    benchmark: str
    metric: str
    unit: str
    value: float
    params: Mapping[str, str] = NO_PARAMS
    samples: tuple[float, ...] = ()
    resolution: float = 0.0
    arm: str = ""
    origin: BootOrigin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line that was not what its format says, or a result that must not be believed.

    `line` counts from 1; 0 means the output as a whole. `text` is the line as it came, cut to 400 characters.
    """

    line: int
    text: str
    reason: str


def problem_at(line: int, text: str, reason: str) -> Problem:
    """A problem with text and reason cut to the length of one."""
    return Problem(line=line, text=text[:_LONGEST], reason=reason[:_LONGEST])


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmDescription:
    """What an output says of one of its arms: settings under which it was measured, and facts that are its own."""

    settings: Mapping[str, str]
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """All that a parser read. Parsers are total: whatever the input, this comes back and nothing is raised.

    `assumed` is what the output itself says of a metric, by metric and unit; `arms` what it says of each arm that has values.
    """

    values: Sequence[Value]
    problems: tuple[Problem, ...]
    assumed: Mapping[tuple[str, str], Assumed] = field(default_factory=dict)
    arms: Mapping[str, ArmDescription] = field(default_factory=dict)
