"""Runs, comparisons and suites as the API answers them."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel


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
    better: str | None
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
    warnings: list[str] = []


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
