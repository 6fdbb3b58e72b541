"""Response models: runs, comparisons and suites."""

from datetime import datetime

from pydantic import BaseModel

from cliffwatch.formats.values import FreeJson


class StoredAnswer(BaseModel):
    """A stored upload. `fresh` is false if the same content was stored before."""

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
    """A run. `record` is run.json in its current format."""

    run: str
    status: str
    platform: str
    mode: str
    created: datetime
    received: datetime
    record: FreeJson
    boots: list[BootListed]


class RawFileListed(BaseModel):
    name: str
    size: int


class RawListed(BaseModel):
    digest: str
    files: list[RawFileListed]


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
    formerly: list[str]
    about: str
    kind: str | None
    primary: str | None


class SuiteWhole(BaseModel):
    suite: str
    title: str
    about: str
    benchmarks: list[BenchmarkAbout]
