"""What the API answers of results, for its description: clients are generated from these."""

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    """A page of a list; `next` is the cursor of the following one, null on the last."""

    items: list[T]
    next: str | None


class StoredAnswer(BaseModel):
    """`fresh` is false where the very same was stored already."""

    digest: str
    fresh: bool


class RunArm(BaseModel):
    label: str
    commit: str | None


class RunListed(BaseModel):
    run: str
    platform: str
    mode: str
    status: str
    created: datetime
    received: datetime
    host: str | None
    boots: int
    arms: dict[str, RunArm] | None


class BootListed(BaseModel):
    number: int
    arm: str
    block: int
    stage: str
    layout: str | None
    status: str
    began: datetime | None
    ended: datetime | None
    received: datetime
    digest: str
    samples: int
    raw_digest: str | None


class RunWhole(BaseModel):
    """A run: its record is run.json as it was uploaded."""

    run: str
    status: str
    platform: str
    mode: str
    created: datetime
    received: datetime
    record: dict[str, Any]
    boots: list[BootListed]


class RawFileListed(BaseModel):
    name: str
    size: int


class RawListed(BaseModel):
    digest: str
    files: list[RawFileListed]


class ComparisonRow(BaseModel):
    """One row of Comparison JSON (docs/formats.md). Rows stored by older versions lack `threshold` and `interval_level`."""

    suite: str
    benchmark: str
    params: dict[str, str]
    metric: str
    unit: str
    better: str
    platform: str | None
    mode: str | None
    n_base: int
    n_head: int
    base: float | None
    head: float | None
    change: float | None
    ci_low: float | None
    ci_high: float | None
    p: float | None
    q: float | None
    mde: float | None
    threshold: float | None = None
    interval_level: float | None = None
    verdict: str
    reason: str
    needs: int | None
    notes: list[str]
    primary: bool


class ComparedTarget(BaseModel):
    """A comparison on one platform and mode; `distance` is of a base that was looked for, in commits before head."""

    platform: str
    mode: str
    base: str
    distance: int | None
    comparison: str
    runs: list[str]
    counts: dict[str, int]
    made: datetime
    notable: float
    failures: list[dict[str, Any]]
    means: list[dict[str, Any]]
    control: dict[str, Any] | None
    sweeps: list[dict[str, Any]]
    left_out: list[dict[str, Any]]


class RevisionComparison(BaseModel):
    """Comparison JSON over every target; `base` is null where the targets have different ones."""

    format: Literal["cliffwatch-comparison"]
    format_version: int
    method_version: int
    base: dict[str, Any] | None
    head: dict[str, Any]
    targets: list[ComparedTarget]
    comparisons: list[ComparisonRow]


class RunComparison(BaseModel):
    """Comparison JSON of a run's own arms."""

    format: Literal["cliffwatch-comparison"]
    format_version: int
    method_version: int
    comparison: str
    base: dict[str, Any]
    head: dict[str, Any]
    comparisons: list[ComparisonRow]


class ComparisonListed(BaseModel):
    comparison: str
    platform: str
    mode: str
    made: datetime
    counts: dict[str, int]
    base: str
    base_subject: str | None
    head: str
    head_subject: str | None


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
    revision was written, or measured first where that is not known.
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


class SeriesHistory(Series):
    points: list[HistoryPoint]


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
    change: str
    state: Literal["candidate", "confirmed", "refuted"]
    kind: Literal["regression", "improvement", "step"]
    size: float
    ci_low: float | None
    ci_high: float | None
    found: datetime
    base: str
    head: str
    head_subject: str | None
    report: str | None


class ReportFacts(BaseModel):
    """Of the changes of one culprit; `largest` is a fraction."""

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


class Report(ReportFacts):
    """With how many changes it gathers."""

    changes: int


class TriageEntry(BaseModel):
    at: datetime
    by: str
    state: str
    owner: str | None
    note: str


class ReportWhole(ReportFacts):
    changes: list[Change]
    triage: list[TriageEntry]


class Quality(BaseModel):
    """`noise` is the share of noise among judged reports, null while none is judged."""

    reports: dict[str, int]
    judged: int
    noise: float | None


class SuiteListed(BaseModel):
    suite: str
    title: str
    about: str
    benchmarks: int


class BenchmarkAbout(BaseModel):
    benchmark: str
    about: str
    kind: str | None
    primary: str | None


class SuiteWhole(BaseModel):
    suite: str
    title: str
    about: str
    benchmarks: list[BenchmarkAbout]
