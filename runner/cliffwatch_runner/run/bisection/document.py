"""What a bisection found, as a document: `cliffwatch bisect --format json` writes it (docs/formats.md). Version 1."""

from typing import Final, Literal

from cliffwatch.formats.values import Commit, Count, OfCase, Part, Share, Text
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import Mode
from cliffwatch.stats.history.culprits.question import Sought

FORMAT: Final = "cliffwatch-bisection"
FORMAT_VERSION: Final = 1


class CommitRecord(Part, frozen=True, kw_only=True):
    """A commit; `paths` are the first hundred that it changed, of a merge those that it changed itself, and `subsystem` the folder of most."""

    commit: Commit
    author: str
    date: str
    subject: str
    subsystem: str
    paths: tuple[str, ...]


class SkippedRecord(Part, frozen=True, kw_only=True):
    """A commit that could not be measured."""

    commit: Commit
    reason: str


class EndsRow(OfCase, frozen=True, kw_only=True):
    """One primary metric of a case, bad against good. `mde` is the smallest change that would have been reported, a fraction."""

    metric: str
    unit: str
    mode: Mode
    base: float | None
    head: float | None
    change: float | None
    mde: float | None
    verdict: Verdict
    reason: str


class SizeRecord(OfCase, frozen=True, kw_only=True):
    """A change of one primary metric of a case from `before` to `after`: centres in `unit`, and `change` as a fraction of `base`. `own` where it
    is what a merge makes itself, and then `head` is `base` and that.
    """

    metric: str
    unit: str
    way: Sought
    before: Commit
    after: Commit
    base: float | None
    head: float | None
    change: float | None
    own: bool = False


class CulpritRecord(Part, frozen=True, kw_only=True):
    """What changed the cases: one commit, or several of which it is one (commits between them cannot be measured), oldest first. Worse and
    better are apart; metrics that are derived from these are not counted.
    """

    commits: tuple[CommitRecord, ...]
    worse: tuple[SizeRecord, ...]
    better: tuple[SizeRecord, ...]


class ErrorRecord(Part, frozen=True, kw_only=True):
    """Of walltime: boots per kernel and step, and the probability, at most, that any of `steps` comparisons is wrong (Bonferroni)."""

    boots: Count
    steps: Count
    error: Share


class BisectionDocument(Part, frozen=True, kw_only=True):
    """`between` commits are those that bad has and good has not; `measured` is how many commits were measured, good and bad among them.
    `host_faults` keep its host from being a bench host (walltime). `outcome` is `not-shown` where the ends do not differ as sought; `cut` names rows with more changes than were searched.
    """

    format: str
    format_version: int
    good: CommitRecord
    bad: CommitRecord
    sought: Sought
    mode: Mode
    platform: str | None
    between: Count
    measured: Count
    skipped: tuple[SkippedRecord, ...]
    outcome: Literal["culprits", "not-shown"]
    ends: tuple[EndsRow, ...]
    culprits: tuple[CulpritRecord, ...]
    error: ErrorRecord | None
    cut: tuple[str, ...]
    log: str
    host_faults: tuple[Text, ...] = ()
