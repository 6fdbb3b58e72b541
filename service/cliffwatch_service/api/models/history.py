"""Response models: series, revisions, changes and regression reports."""

from datetime import datetime
from typing import Literal

from cliffwatch.formats.values import FreeJson
from cliffwatch.samples import Mode
from cliffwatch_service.api.models.lists import Answer
from cliffwatch_service.history.watching.epochs import EpochBegin
from cliffwatch_service.store.history.news.fixes import FixRow
from cliffwatch_service.store.history.reports import TriageRow
from cliffwatch_service.store.history.search import FoundNameRow, FoundRevisionRow
from cliffwatch_service.store.history.watching import HostEventRow, TrendRow
from cliffwatch_service.store.series import MeasuredTargetRow


class Series(Answer):
    series: str
    suite: str
    benchmark: str
    params: dict[str, str]
    metric: str
    unit: str
    platform: str
    mode: str


class SearchResults(Answer):
    """Results of a search, at most 20 of each kind."""

    revisions: list[FoundRevisionRow]
    branches: list[FoundNameRow]
    tags: list[FoundNameRow]
    suites: list[str]
    series: list[Series]


class HistoryPoint(Answer):
    """The median of one revision.

    - `ordinal`: place on the branch; null without a branch.
    - `n`: number of boots.
    - `centre`: median over the boots of `run`.
    - `low`, `high`: 95 % confidence interval of the median; null if there are too few boots.
    - `at`: when the revision was committed; if that is unknown, when it was first measured.
    - `anchor`: median of the run's anchor; null if the run had none.
    """

    ordinal: int | None
    commit: str
    release: str | None
    n: int
    centre: float
    low: float | None
    high: float | None
    epoch: str
    run: str
    at: datetime
    anchor: float | None


class SeriesHistory(Series):
    points: list[HistoryPoint]
    epochs: list[EpochBegin]
    host_events: list[HostEventRow]
    trends: list[TrendRow]


class BootSample(Answer):
    run: str
    number: int
    arm: str
    stage: str
    value: float


class SeriesSamples(Series):
    revision: str
    samples: list[BootSample]


class Branch(Answer):
    tree: str
    branch: str


class RevisionWhole(Answer):
    commit: str
    tree_hash: str | None
    parents: list[str]
    author: str | None
    authored: datetime | None
    committed: datetime | None
    subject: str | None
    patch_id: str | None
    release: str | None
    measured: list[MeasuredTargetRow]


class Change(Series):
    """A step of a series.

    - `size`, `ci_low`, `ci_high`: the step and its confidence interval as fractions. `size` is null if the
      step has no percentage, because it is from or to zero.
    - `base_value`, `head_value`: values of both sides if the step has no percentage.
    - `apart`: whether the sides were measured separately instead of in turns.
    - `fresh_change`, `fresh_low`, `fresh_high`, `fresh_mde`: result of the fresh comparison that did not
      confirm the candidate, and its minimum detectable effect.
    - `waits_for`: state of the fresh comparison that a candidate waits for.
    - `located_in`: the mode in which a bisection located the commit; null if it is the series' own mode.
    """

    change: str
    state: Literal["candidate", "confirmed", "refuted", "superseded"]
    kind: Literal["regression", "improvement", "changed", "step"]
    size: float | None
    ci_low: float | None
    ci_high: float | None
    base_value: float | None
    head_value: float | None
    apart: bool
    found: datetime
    base: str
    head: str
    head_subject: str | None
    report: str | None
    fresh_change: float | None
    fresh_low: float | None
    fresh_high: float | None
    fresh_mde: float | None
    waits_for: Literal["waiting", "asked", "answered", "unanswered"] | None
    located_in: Mode | None


class ReportFacts(Answer):
    """The changes of one culprit.

    - `largest`: the largest change, as a fraction.
    - `summary`: what got worse and better, in words.
    - `merged_into`: report that this one was merged into, because its range contains that report's culprit.
    """

    report: str
    state: str
    owner: str | None
    opened: datetime
    updated: datetime
    base: str
    head: str
    subject: str | None
    author: str | None
    largest: float | None
    summary: str
    platforms: list[str] | None
    merged_into: str | None


class Report(ReportFacts):
    """A report. `changes` is the number of its changes."""

    changes: int


class ReportNews(Answer):
    """News of a report.

    - `worst`: the largest regression as a fraction; null if none has a percentage.
    - `summary`: what got worse and better, in words.
    """

    kind: Literal["new", "more cases", "culprit", "unanswered", "fixed", "closed", "reopened"]
    at: datetime
    cases: int
    worst: float | None
    summary: str


class ReportWhole(ReportFacts):
    """A report with its changes, triage, fix and news.

    `functions` are the functions behind its changes, as in Comparison JSON. It is empty if no instructions
    were counted.
    """

    changes: list[Change]
    functions: list[FreeJson]
    triage: list[TriageRow]
    fix: FixRow | None
    news: list[ReportNews]
