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
    """The base vs base check: base against itself under another name.

    The method would have published a change in `published` of `rows` rows. `largest` is the largest
    difference, a fraction: how no change looks on this host. `arm` is the arm that was booted twice. With
    several `layouts` its boots have others than base's, and what luck of placement does is in the check.
    """

    arm: str = "base"
    layouts: int = 1
    rows: int
    published: int
    largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedChange:
    """A row's head / base - 1 where head's unchanged functions lie where base has them.

    `pairs` are the boots of each side. The bounds are those of a 95 % confidence interval; null if there are
    too few pairs. `only_placement` is false if matched layouts show a change in the row's direction, however
    small. It is true if they do not and exclude one of the row's threshold: then the change may come from
    placement alone. Else it is null.
    """

    change: float
    ci_low: float | None
    ci_high: float | None
    pairs: int
    only_placement: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A benchmark's curve over one numeric parameter."""

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
