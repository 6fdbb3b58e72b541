"""Series, revisions, changes and regression reports as the API answers them."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from cliffwatch.formats.values import FreeJson
from cliffwatch.samples import Mode


class Series(BaseModel):
    series: str
    suite: str
    benchmark: str
    params: dict[str, str]
    metric: str
    unit: str
    platform: str
    mode: str


class HistoryPoint(BaseModel):
    """A revision's median over `n` boots of `run`; `low` and `high` hold it at 95 %, null from too few boots. `at` is when the
    revision was written, or measured first where that is not known. `anchor` is the median of the run's anchor, null where it had none.
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


class HostEvent(BaseModel):
    """`stepped` of `measured` series of a host stepped together between base and head. By `reason` `series` those of the revisions, of which a
    fresh comparison shows whether it was the host or a commit; by `control` those of the anchor, which is the same in every run: it was the host.
    """

    branch: str
    host: str | None
    base: str
    head: str
    stepped: int
    measured: int
    reason: Literal["series", "control"]
    found: datetime


class Trend(BaseModel):
    """A drift without a step over `points` revisions, by `total` (a fraction), since the release's first revision or in 90 days."""

    branch: str
    since: Literal["release", "90 days"]
    base: str
    head: str
    total: float
    p: float
    points: int
    found: datetime


class SeriesHistory(Series):
    points: list[HistoryPoint]
    host_events: list[HostEvent]
    trends: list[Trend]


class BootSample(BaseModel):
    run: str
    number: int
    arm: str
    stage: str
    value: float


class SeriesSamples(Series):
    revision: str
    samples: list[BootSample]


class Branch(BaseModel):
    tree: str
    branch: str


class MeasuredTarget(BaseModel):
    platform: str
    mode: str
    boots: int


class RevisionWhole(BaseModel):
    commit: str
    tree_hash: str | None
    parents: list[str]
    author: str | None
    authored: datetime | None
    committed: datetime | None
    subject: str | None
    patch_id: str | None
    release: str | None
    measured: list[MeasuredTarget]


class Change(Series):
    """A step of a series, as fractions. Of a change that has no percentage (from or to zero) `size` is null, and the values are what both
    sides read. `apart`: the sides did not take turns, so that it is a difference between two measurements. `fresh_change`, its bounds and the change that could have been detected are of the comparison that
    did not bear a candidate out; `waits_for` is the state of the comparison that a candidate waits for. `located_in` is the mode in which a bisection
    located its commit, where that is another than its own.
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


class ReportFacts(BaseModel):
    """Of the changes of one culprit; `largest` is a fraction. `merged_into` is the report of the culprit that its range turned out to hold."""

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
    platforms: list[str] | None
    merged_into: str | None


class Report(ReportFacts):
    """With how many changes it gathers."""

    changes: int


class TriageEntry(BaseModel):
    at: datetime
    by: str
    state: str
    owner: str | None
    note: str


class ReportFix(BaseModel):
    """The commit that fixed a report; `verified` where measurements show it."""

    commit: str
    by: str
    at: datetime
    verified: bool


class ReportNews(BaseModel):
    """What was said of a report when: `worst` is a fraction, null where no regression had a percentage; `step` is the first that had none, in
    words.
    """

    kind: Literal["new", "more cases", "culprit", "fixed", "closed", "reopened"]
    at: datetime
    cases: int
    worst: float | None
    step: str | None


class ReportWhole(ReportFacts):
    """A report with all that is known of it. `functions` are those behind its changes, as Comparison JSON has them, where instructions were counted."""

    changes: list[Change]
    functions: list[FreeJson]
    triage: list[TriageEntry]
    fix: ReportFix | None
    news: list[ReportNews]


class Quality(BaseModel):
    """`noise` and `precision` are shares of the `judged` reports, `recall` the share of the `planted` steps that a report names as its
    culprit, `seconds_to_detection` the median from planting to the report; null while there is nothing that they are of.
    """

    reports: dict[str, int]
    judged: int
    noise: float | None
    precision: float | None
    planted: int
    found: int
    recall: float | None
    seconds_to_detection: float | None
