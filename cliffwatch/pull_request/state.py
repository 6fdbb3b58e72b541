"""Everything that a pull request's comment shows, as values. Whatever they say of a tree is of somebody
else's making.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.reports.context import NO_CONTEXT, ReportContext
from cliffwatch.samples import Arm, CaseKey, Mode

RowKey = tuple[CaseKey, str]
"""A metric of a case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A maintainer has to allow it first: the author is an outsider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """`position` counts from 1, None where nobody knows it; `seconds` is when it will be done,
    from now on.
    """

    position: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Building:
    """Base and head are built; `seconds` is when all will be done, from now on."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Booting:
    """`done` of `planned` boots; `planned` is None where more may be added."""

    done: int
    planned: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """`confirmed` are the changes that were seen again on fresh boots (`confirmed_rows`)."""

    compared: ComparisonSet
    context: ReportContext = NO_CONTEXT
    confirmed: frozenset[RowKey] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Nothing can be compared: head or base does not build, a host failed. Its `evidence` holds the first
    error.
    """

    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """Somebody asked for it; `by` is his login."""

    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """A newer push took its place; `by` is its head's commit."""

    by: str


Progress = Waiting | Queued | Building | Booting | Measured | Failed | Cancelled | Superseded


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetState:
    """How far one target (platform and mode) is."""

    platform: str
    mode: Mode
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A patch series of a mailing list: its number there, and which version of it head is."""

    identity: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierVersion:
    """What the version before measured, by platform and mode."""

    version: int
    head: str
    compared: Mapping[tuple[str, Mode], ComparisonSet]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A page with more: `url` is http or https, of the service or of GitHub."""

    name: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestState:
    """What is known of a pull request's benchmarks at one moment."""

    sequence: int
    """Grows from state to state; a comment never goes back to an earlier one."""
    title: str
    base: str
    """Full commit."""
    head: str
    """Full commit."""
    targets: tuple[TargetState, ...]
    repeat: str = ""
    """Shell command that measures the same again."""
    series: Series | None = None
    earlier: EarlierVersion | None = None
    links: tuple[Link, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """Further sentences for the reader, without markup."""
    by_unit: bool = False
    """Base and head are of a Go library, whose readers want one table per unit."""

    def measured(self) -> tuple[tuple[TargetState, Measured], ...]:
        """The targets with a comparison."""
        return tuple((each, each.progress) for each in self.targets if isinstance(each.progress, Measured))


def confirmed_rows(compared: ComparisonSet, *arms: Arm) -> frozenset[RowKey]:
    """The changes of a comparison whose verdict rests on boots of the stage `confirm`, which both of its arms
    have for them.

    Counted values repeat by themselves: theirs are confirmed where both kernels were booted twice at
    least.
    """
    again = [_measured_again(arm) for arm in arms]
    return frozenset(
        (row.case, row.metric)
        for row in compared.changed_rows()
        if (row.interval_level is None and min(row.n_base, row.n_head) > 1)
        or (again and all((row.case, row.metric) in each for each in again))
    )


def _measured_again(arm: Arm) -> frozenset[RowKey]:
    return frozenset(
        (sample.case, sample.metric)
        for boot in arm.boots
        if boot.stage == "confirm"
        for sample in boot.samples
    )
