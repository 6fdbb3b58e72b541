"""The content of a pull request's comment, as values. Texts from a tree in it are untrusted."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.reports.context import NO_CONTEXT, ReportContext
from cliffwatch.samples import Arm, CaseKey, Mode

RowKey = tuple[CaseKey, str]
"""A case and the name of a metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Waiting for a maintainer's approval: the author is not trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """Waiting in the queue."""

    position: int | None = None
    """Counts from 1; None if unknown."""
    seconds: float | None = None
    """Expected time from now until the target is done; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Building:
    """Building base and head."""

    seconds: float | None = None
    """Expected time from now until the target is done; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Booting:
    """Measuring."""

    done: int
    """Finished boots."""
    planned: int | None = None
    """Boots in all; None if more may be added."""
    seconds: float | None = None
    """Expected time from now until the target is done; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Measured and compared."""

    compared: ComparisonSet
    context: ReportContext = NO_CONTEXT
    confirmed: frozenset[RowKey] = frozenset()
    """The changes that fresh boots confirmed (`confirmed_rows`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Nothing can be compared: for example, head does not build, or a host failed."""

    failure: Failure
    """Its `evidence` contains the first error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """Cancelled by a person."""

    by: str | None = None
    """Login of the person; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """Superseded by a newer push."""

    by: str
    """Head of the newer push: a commit."""


Progress = Waiting | Queued | Building | Booting | Measured | Failed | Cancelled | Superseded


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetState:
    """The progress of one target."""

    platform: str
    mode: Mode
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A patch series of a mailing list."""

    identity: str
    """Patchwork's number of the series."""
    version: int
    """The version of the series that head is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierVersion:
    """The results of an earlier version of the series."""

    version: int
    head: str
    """A commit."""
    compared: Mapping[tuple[str, Mode], ComparisonSet]
    """Comparisons by platform and mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A page with more details."""

    name: str
    url: str
    """An http or https URL of the service or of GitHub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestState:
    """What is known of a pull request's benchmarks at one moment."""

    sequence: int
    """Grows from state to state. An earlier state never replaces a later one in a comment."""
    title: str
    base: str
    """Full hash of a commit."""
    head: str
    """Full hash of a commit."""
    targets: tuple[TargetState, ...]
    repeat: str = ""
    """Shell commands that repeat the measurement; may be empty."""
    series: Series | None = None
    """None if head is not a version of a mailing list series."""
    earlier: EarlierVersion | None = None
    """None if no earlier version of the series was measured."""
    links: tuple[Link, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """Further sentences for the reader, without markup."""
    by_unit: bool = False
    """True if base and head are revisions of a Go library: the comment then has one table per unit."""

    def measured(self) -> tuple[tuple[TargetState, Measured], ...]:
        """Returns the measured targets."""
        return tuple((each, each.progress) for each in self.targets if isinstance(each.progress, Measured))


def confirmed_rows(compared: ComparisonSet, *arms: Arm) -> frozenset[RowKey]:
    """Returns the changed rows that fresh boots confirmed: both arms have samples from the stage `confirm`.

    A change of a counted value is confirmed if both kernels booted at least twice, because counted values
    repeat.
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
