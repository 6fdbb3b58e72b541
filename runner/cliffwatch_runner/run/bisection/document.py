"""The JSON document of a bisection, version 1.

`cliffwatch bisect --format json` writes it (docs/formats.md).
"""

from typing import Final, Literal

from cliffwatch.formats.values import Commit, Count, OfCase, Part, Share, Text
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import Mode
from cliffwatch.stats.history.culprits.question import ChangeDirection

FORMAT: Final = "cliffwatch-bisection"
FORMAT_VERSION: Final = 1


class CommitRecord(Part, frozen=True, kw_only=True):
    """A commit of the bisection."""

    commit: Commit
    author: str
    date: str
    subject: str
    subsystem: str
    """The folder with most of the changed files."""

    paths: tuple[str, ...]
    """The first hundred changed files; for a merge, only the merge's own changes."""


class SkippedRecord(Part, frozen=True, kw_only=True):
    """A commit that could not be measured."""

    commit: Commit
    reason: str


class EndsRow(OfCase, frozen=True, kw_only=True):
    """One primary metric of a case: bad against good."""

    metric: str
    unit: str
    mode: Mode
    base: float | None
    head: float | None
    change: float | None
    """Fraction of base."""

    mde: float | None
    """Smallest change that would have been reported, as a fraction of base."""

    verdict: Verdict
    reason: str


class SizeRecord(OfCase, frozen=True, kw_only=True):
    """The change of one primary metric of a case between two commits."""

    metric: str
    unit: str
    way: ChangeDirection
    before: Commit
    """The last commit without the change."""

    after: Commit
    """The first commit with it."""

    base: float | None
    """Centre before the change, in `unit`; None if not measured."""

    head: float | None
    """Centre after the change, in `unit`. If `own` is true: `base` plus the merge's own change."""

    change: float | None
    """Fraction of `base`."""

    own: bool = False
    """True for the change that a merge makes by itself."""


class CulpritRecord(Part, frozen=True, kw_only=True):
    """The culprit of some changes. Metrics derived from these are not counted again."""

    commits: tuple[CommitRecord, ...]
    """One commit; or several, oldest first, one of which it is if those between could not be measured."""

    worse: tuple[SizeRecord, ...]
    better: tuple[SizeRecord, ...]


class ErrorRecord(Part, frozen=True, kw_only=True):
    """Error bound of a bisection in walltime."""

    boots: Count
    """Boots per kernel in each step."""

    steps: Count
    """Number of comparisons that the bound covers."""

    error: Share
    """Maximum probability that any of these comparisons is wrong (Bonferroni)."""


class BisectionDocument(Part, frozen=True, kw_only=True):
    """The outcome of a bisection."""

    format: str
    format_version: int
    good: CommitRecord
    bad: CommitRecord
    sought: ChangeDirection
    mode: Mode
    platform: str | None
    between: Count
    """Number of commits that bad has and good has not."""

    measured: Count
    """Number of commits that were measured, including good and bad."""

    skipped: tuple[SkippedRecord, ...]
    outcome: Literal["culprits", "not-shown"]
    """`not-shown` if the ends do not differ as sought."""

    ends: tuple[EndsRow, ...]
    culprits: tuple[CulpritRecord, ...]
    error: ErrorRecord | None
    """None in icount, and if the ends do not show the change."""

    cut: tuple[str, ...]
    """Rows with more changes than were searched for."""

    log: str
    """Path of the log for `git bisect replay`."""

    host_faults: tuple[Text, ...] = ()
    """Why the host is not a bench host (walltime only)."""
