"""Series, revisions, changes and regression reports as the API answers them."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel


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
    kind: Literal["regression", "improvement", "changed", "step"]
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
