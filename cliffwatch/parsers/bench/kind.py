"""Defines a kind of output line: its forms, the data collected from a run, and the metrics made from it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from cliffwatch.parsers.bench.patterns import line_pattern
from cliffwatch.samples import Better

STEP = 0.001
"""bench prints three decimals: two rates that differ by less may be equal."""

ITER = r"Iter {iter:\d+} ( {jitter}us): "
"""How most Iter lines begin: `jitter` is how much longer than a second the interval was."""

Role = Literal["iter", "summary", "final", "failure", "doubt"]
"""The role of a line:

- iter: a reading
- summary: bench's own summary of the readings
- final: a value without readings before it
- failure: the field `failure` says why there is no result; or `errors` and `create` count errors beside a
  result
- doubt: the field `doubt` says why a result is not credible

A field `letter` or `time` is the unit of the line's numbers.
"""


@dataclass(frozen=True, slots=True)
class MetricShape:
    """A metric of a kind."""

    unit: str
    better: Better
    primary: bool = False
    """Primary metrics decide the verdict of a case. Other metrics follow from them or explain them."""
    field: str | None = None
    """The field of the lines whose mean it is; None if its kind computes it."""
    step: float = STEP
    """The smallest step that the printed digits of `field` can show."""


@dataclass(frozen=True)
class LineForm:
    """One form of a line."""

    role: Role
    text: str
    """What bench prints, for `line_pattern`."""
    begin: str = ""
    """A regular expression of what stands before it."""

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.begin + line_pattern(self.text))


@dataclass(frozen=True, slots=True)
class Reading:
    """One Iter line."""

    fields: Mapping[str, float]
    seconds: float
    """The true length of its interval; 1 if the line does not give it."""


@dataclass(slots=True)
class BenchOutput:
    """Lines of one run of one benchmark, collected while the output is read."""

    name: str | None
    """None if the text does not name the benchmark."""
    line: int
    """The line where the output begins, from 1."""
    kind: "Kind | None" = None
    """None until a result has been seen."""
    readings: list[Reading] = field(default_factory=list)
    summary: dict[str, float] = field(default_factory=dict)
    """The fields of the Summary; empty if there is none."""
    summary_line: int = 0
    finals: list[tuple[Mapping[str, str], Mapping[str, float]]] = field(default_factory=list)
    """The fields of each final line, as text and as numbers."""
    units: dict[str, str] = field(default_factory=dict)
    """The units that the lines print, in the fields `letter` and `time`."""
    failures: list[tuple[int, str]] = field(default_factory=list)
    """Line number and reason."""
    doubts: list[tuple[int, str]] = field(default_factory=list)
    """Line number and reason."""
    slab: str | None = None
    """The MiB of a `Slab:` line, as text; None if there is none. Independent of the kind."""
    params: dict[str, str] = field(default_factory=dict)
    """Parameters from the text around the output."""
    above: str = ""
    alone: str = ""
    said: str = ""
    """The headings that it stands under, see `Headings`."""
    side: str = ""
    """base or head under a heading such as `Before:`; empty if the text has no two such headings."""
    framed: bool = False
    """True if the output has its banner."""

    @property
    def is_fresh(self) -> bool:
        """True until a result has been seen."""
        return self.kind is None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """The value of one metric of an output, in the unit that its kind declares."""

    metric: str
    value: float
    samples: tuple[float, ...] = ()
    """The readings behind the value; empty if unknown."""
    resolution: float = 0.0
    """The smallest step that the printed digits can show; 0 if unknown."""
    params: Mapping[str, str] = field(default_factory=dict)
    """Parameters that the lines themselves name."""


MetricValues = Iterator[MetricValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of output line."""

    name: str
    metrics: Mapping[str, MetricShape]
    forms: tuple[LineForm, ...]
    values: Callable[[BenchOutput, Sequence[Reading]], MetricValues] | None = None
    """Computes the metrics from an output and its readings after warm-up.

    None if each metric is the mean of a field.
    """
    rate: str | None = None
    """The field whose Summary is the mean over the true seconds of the readings; None if there is none.

    It reveals the warm-up of a pasted output, and outputs that were cut or changed.
    """
    level: str | None = None
    """The field whose Summary is the plain mean; None if there is none."""
    lines_per_reading: int = 1
    """Above 1 if several lines of one iteration make one reading."""
    dropped: str | None = None
    """A metric that also counts as operations.

    If this and all higher-is-better metrics are zero, nothing ran.
    """
    marks: tuple[str, ...] = ()
    """Each line of the kind contains one of these.

    Its patterns, which begin with any name, are tried on no other line.

    Empty if the patterns are tried on every line.
    """
    once: bool = False
    """True if each of its final lines appears only once in an output."""
    name_field: str | None = None
    """The field in which a line may name its benchmark, for outputs without another name."""
    row_of: Callable[[Mapping[str, str]], tuple[str, dict[str, str]]] | None = None
    """Returns benchmark and parameters from a line's fields.

    None unless each line is an output of its own.
    """
