"""Verdicts of rows, and facts about a comparison as a whole.

Comparisons and their documents share these types.
"""

from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal[
    "regression", "improvement", "changed", "unchanged", "inconclusive", "missing", "failed", "invalid"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The geometric mean of head / base - 1 over `rows` rows of one metric of `arm`.

    The bounds are null if there are too few boots.
    """

    arm: str = "head"
    metric: str
    unit: str
    rows: int
    change: float
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The A/A control: base against itself under another name.

    The method would have published a change in `published` of `rows` rows. `largest` is the largest
    difference, a fraction: how no change looks on this host. `arm` is the arm that was booted twice.
    """

    arm: str = "base"
    rows: int
    published: int
    largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A benchmark over one numeric parameter: course and breakpoints of both curves, in words.

    `arm` is the arm whose curve is compared with base's. `base_breakpoint` and `head_breakpoint` describe the
    breakpoint with the most weight: the last parameter value on the first course, and the first value
    certainly off it. They are null if the curve has no breakpoint. `fixed` are the other parameters that vary
    among the benchmark's cases, with their value on this curve; the value is null if the cases do not set the
    parameter. `fixed` is empty if no other parameter varies, as in all older documents. `differs` is true if
    head's curve has another course or other breakpoints than base's and a case of the curve changed. It is
    null if unknown: in older documents, and for curves that were not judged because the benchmark has too
    many.
    """

    arm: str = "head"
    """Arm whose curve is compared with base's."""
    suite: str
    benchmark: str
    parameter: str
    metric: str
    words: str
    """Course and breakpoints of both curves."""
    base_breakpoint: tuple[float, float] | None = None
    """Of the strongest break: the last parameter on the first course, and the first surely off it; None
    without one.
    """
    head_breakpoint: tuple[float, float] | None = None
    """The same of the other arm."""
    fixed: dict[str, str | None] = field(default_factory=dict)
    """Other parameters that vary among the benchmark's cases, with this curve's value; None if its cases lack
    it.
    """
    differs: bool | None = None
    """Head takes another course or breaks elsewhere, and a case changed; None if too many curves to judge."""
