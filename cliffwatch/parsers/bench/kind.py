"""What a kind of line is: its forms, what is collected of a run that prints it, and the metrics that come of
that.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from cliffwatch.samples import Better

Role = Literal["iter", "summary", "final", "failure", "doubt"]
"""iter: a reading; summary: bench's own account of the readings; final: a value without readings before it;
failure: the field `failure` says why there is no result (or `errors` and `create` count what went wrong
beside one); doubt: the field `doubt` says why a result is not to be believed. A field `letter` or `time`
is the unit that the line's numbers are in.
"""


@dataclass(frozen=True, slots=True)
class MetricShape:
    """A metric of a kind. `primary` metrics decide the verdict of a case; the others follow from them or
    explain them.
    """

    unit: str
    better: Better
    primary: bool = False


@dataclass(frozen=True)
class LineForm:
    """One form of line: what it is for, and its pattern as a text that is compiled when the first line is
    matched.
    """

    role: Role
    pattern: str

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)


@dataclass(frozen=True, slots=True)
class Reading:
    """One Iter line: its fields, and the true length of its interval in seconds (1 where the line does not
    say).
    """

    fields: Mapping[str, float]
    seconds: float


@dataclass(slots=True)
class BenchOutput:
    """Lines of one run of one benchmark, collected while the output is read."""

    name: str | None
    line: int
    """Where it begins."""
    kind: "Kind | None" = None
    readings: list[Reading] = field(default_factory=list)
    summary: dict[str, float] = field(default_factory=dict)
    summary_line: int = 0
    finals: list[tuple[Mapping[str, str], Mapping[str, float]]] = field(default_factory=list)
    """Fields of each final line, as texts and as numbers."""
    units: dict[str, str] = field(default_factory=dict)
    failures: list[tuple[int, str]] = field(default_factory=list)
    """Line and text."""
    doubts: list[tuple[int, str]] = field(default_factory=list)
    """Line and text."""
    slab: str | None = None
    """MiB that a line of its own reports, as text."""
    params: dict[str, str] = field(default_factory=dict)
    """Parameters that stand around the output."""
    framed: bool = False
    """Its banner is there."""

    @property
    def is_fresh(self) -> bool:
        """Whether no result of it has been seen."""
        return self.kind is None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """One metric as an output gives it, in the unit of its kind; `params` are those that the lines themselves
    name.
    """

    metric: str
    value: float
    samples: tuple[float, ...] = ()
    resolution: float = 0.0
    params: Mapping[str, str] = field(default_factory=dict)


MetricValues = Iterator[MetricValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of line.

    `values` makes the metrics of an output and of its readings after warm-up. `rate` is the field whose
    Summary is the mean over the readings' true seconds: it tells the warm-up of a pasted output, and cut
    or changed outputs. `level` is one whose Summary is the plain mean. `lines_per_reading` is above 1
    where the lines of one iteration make one reading. Where every metric that is better higher is zero
    nothing ran; `dropped` names one that counts as operations as well.
    """

    name: str
    metrics: Mapping[str, MetricShape]
    forms: tuple[LineForm, ...]
    values: Callable[[BenchOutput, Sequence[Reading]], MetricValues]
    rate: str | None = None
    level: str | None = None
    lines_per_reading: int = 1
    dropped: str | None = None
    marks: tuple[str, ...] = ()
    """Of which each of its lines has one: patterns that begin with any name are tried on no other line."""
    once: bool = False
    """Whether each of its final lines stands once in an output."""
    name_field: str | None = None
    """The field in which a line may name its benchmark, for outputs that nothing else names."""
    row_of: Callable[[Mapping[str, str]], tuple[str, dict[str, str]]] | None = None
    """Of lines that are an output each: benchmark and parameters by the line's fields."""
