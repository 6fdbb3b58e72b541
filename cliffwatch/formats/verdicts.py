"""What is said of a row, and of a comparison as a whole: the words and parts that comparisons and their documents share."""

from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal[
    "regression", "improvement", "changed", "unchanged", "inconclusive", "missing", "failed", "invalid"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The geometric mean of head / base - 1 over `rows` rows of one metric; bounds are None where boots are too few. `arm` is whose rows
    they are.
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
    """Base against itself under another name: rows of which the method would have published something, of how many.

    `largest` is the largest difference, as a fraction: what no change looks like on this host. `arm` is the one that was booted twice.
    """

    arm: str = "base"
    rows: int
    published: int
    largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A benchmark over one numeric parameter: the course and the breakpoints of each side's curve, in words.

    `base_breakpoint` and `head_breakpoint` are the last parameter value on the first course and the first surely off it, of the
    breakpoint with most weight; None where the curve has no breakpoint. `arm` is whose curve is laid beside base's.
    `fixed` are the other parameters that differ among the benchmark's cases, with the value that all cases of this curve have, None
    where they do not give it; empty where no other parameter differs, as in all sweeps of older documents.
    `differs` says whether head takes another course than base or breaks elsewhere, and a case of the curve changed; None where that
    is not known: in older documents, and of a curve that was not judged because the benchmark has too many.
    """

    arm: str = "head"
    suite: str
    benchmark: str
    parameter: str
    metric: str
    words: str
    base_breakpoint: tuple[float, float] | None = None
    head_breakpoint: tuple[float, float] | None = None
    fixed: dict[str, str | None] = field(default_factory=dict)
    differs: bool | None = None
