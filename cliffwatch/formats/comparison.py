"""Comparison JSON: the output of `--format json`, and the service's answer."""

from datetime import datetime
from typing import Annotated, Final, Literal

from msgspec import Meta

from cliffwatch.formats.code.functions import CaseFunctionsRecord
from cliffwatch.formats.values import Count, OfCase, OutcomeRecord, Part
from cliffwatch.formats.verdicts import Control, MatchedChange, Mean, Sweep, Verdict
from cliffwatch.samples import Assume, Better, Mode, Observed

FORMAT: Final = "cliffwatch-comparison"
FORMAT_VERSION: Final = 1


class SideRecord(Part, frozen=True, kw_only=True):
    """An arm of a comparison.

    `boots` is their number, `layouts` the number of layouts that they had, 1 if only one is known. `facts`
    are texts by name, such as commit and release.
    """

    name: str
    label: str
    boots: Count
    layouts: Count = 1
    facts: dict[str, str]


class ArmFailureRecord(Part, frozen=True, kw_only=True):
    """An arm that could not be measured, with the raw evidence."""

    arm: str
    message: str
    evidence: str


class WarningRecord(Part, frozen=True, kw_only=True):
    """A sentence that must accompany every row of an arm."""

    arm: str = "head"
    text: str


class ComparisonRow(OfCase, frozen=True, kw_only=True):
    """One metric of one case: an arm compared with the first arm.

    A member is null if it does not apply. `same_code` is true if both arms execute identical code in the
    case, so that any difference is noise (A/A evidence); null if the run does not say. `matched` is a change
    in matched layouts; null for other rows, and without boots in such layouts. `n_base` and `n_head` count
    the values that were compared: one a boot, or with `observed` layout one a layout, the mean of its boots.
    """

    metric: str
    unit: str
    arm: str = "head"
    better: Better | None
    platform: str | None
    mode: Mode | None
    n_base: Count
    n_head: Count
    observed: Observed = "boot"
    base: float | None
    head: float | None
    change: float | None
    ci_low: float | None
    ci_high: float | None
    p: float | None
    q: float | None
    mde: float | None
    threshold: Annotated[float, Meta(ge=0)]
    interval_level: float | None
    verdict: Verdict
    reason: str
    needs: Count | None
    notes: tuple[str, ...]
    primary: bool
    same_code: bool | None = None
    matched: MatchedChange | None = None

    @property
    def assume(self) -> Assume:
        """Counted values are exact: they have a band, and no interval with a level."""
        return "exact" if self.interval_level is None else "nothing"

    @property
    def base_spread(self) -> float | None:
        """Standard deviation over the boots of base, as a fraction of the mean; None if unknown.

        Documents have no spreads and no steps, see `cliffwatch.comparing.comparison.Comparison`.
        """
        return None

    @property
    def head_spread(self) -> float | None:
        """The same of head."""
        return None

    @property
    def steps(self) -> tuple[str, ...]:
        """How the verdict was reached, with the numbers; empty if unknown."""
        return ()


class ComparisonSummary(Part, frozen=True, kw_only=True):
    """A comparison without its rows.

    `alpha` is the family-wise error rate; null in older documents. `chosen` are sentences that say how
    commits and suites were resolved from the request, `notes` other sentences on the run. `functions` explain
    changed rows, if instructions were counted per function.
    """

    format: Literal["cliffwatch-comparison"]
    format_version: Literal[1]
    method_version: Count
    arms: Annotated[tuple[SideRecord, ...], Meta(min_length=2)]
    platform: str | None
    mode: Mode | None
    notable: float
    alpha: float | None
    warnings: tuple[WarningRecord, ...]
    failures: tuple[ArmFailureRecord, ...]
    means: tuple[Mean, ...]
    control: Control | None
    sweeps: tuple[Sweep, ...]
    left_out: tuple[OutcomeRecord, ...]
    chosen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    functions: tuple[CaseFunctionsRecord, ...] = ()

    @property
    def base(self) -> SideRecord:
        """The arm that all others are compared with."""
        return self.arms[0]

    @property
    def head(self) -> SideRecord:
        return self.arms[1]


class ComparisonDocument(ComparisonSummary, frozen=True, kw_only=True):
    """Comparison JSON of two arms."""

    comparisons: tuple[ComparisonRow, ...]


class RunComparison(ComparisonDocument, frozen=True, kw_only=True):
    """A service's Comparison JSON of the arms of one run. `comparison` is its identity."""

    comparison: str


class TargetRecord(Part, frozen=True, kw_only=True):
    """A comparison on one platform in one mode.

    `distance` is the number of commits from base to head if the service searched for a measured base;
    otherwise null. `functions` explain changed rows.
    """

    platform: str
    mode: Mode
    base: str
    distance: int | None
    comparison: str
    runs: tuple[str, ...]
    counts: dict[str, int]
    made: datetime
    notable: float
    alpha: float | None
    warnings: tuple[WarningRecord, ...]
    failures: tuple[ArmFailureRecord, ...]
    means: tuple[Mean, ...]
    control: Control | None
    sweeps: tuple[Sweep, ...]
    left_out: tuple[OutcomeRecord, ...]
    chosen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    functions: tuple[CaseFunctionsRecord, ...] = ()


class RevisionComparison(Part, frozen=True, kw_only=True):
    """Comparison JSON of two revisions on all targets.

    The first arm is null if targets have different bases.
    """

    format: Literal["cliffwatch-comparison"]
    format_version: Literal[1]
    method_version: Count
    arms: tuple[SideRecord | None, SideRecord]
    targets: tuple[TargetRecord, ...]
    comparisons: tuple[ComparisonRow, ...]
    demonstration: bool = False
