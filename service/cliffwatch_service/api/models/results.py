"""Response models: runs, comparisons and suites."""

from datetime import datetime

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.api.models.lists import Answer
from cliffwatch_service.store.boots import BootRow


class StoredAnswer(Answer):
    """A stored upload. `fresh` is false if the same content was stored before."""

    digest: str
    fresh: bool


class RunArm(Answer):
    label: str
    commit: str | None


class RunListed(Answer):
    run: str
    platform: str
    mode: str
    status: str
    created: datetime
    received: datetime
    host: str | None
    boots: int
    arms: dict[str, RunArm] | None


class RunWhole(Answer):
    """A run. `record` is run.json in its current format."""

    run: str
    status: str
    platform: str
    mode: str
    created: datetime
    received: datetime
    record: FreeJson
    boots: list[BootRow]


class RawFileListed(Answer):
    name: str
    size: int


class RawListed(Answer):
    digest: str
    files: list[RawFileListed]


class ComparisonListed(Answer):
    comparison: str
    platform: str
    mode: str
    made: datetime
    counts: dict[str, int]
    base: str
    base_subject: str | None
    head: str
    head_subject: str | None


class SuiteListed(Answer):
    suite: str
    title: str
    about: str
    benchmarks: int


class BenchmarkAbout(Answer):
    benchmark: str
    formerly: list[str]
    about: str
    kind: str | None
    primary: str | None


class SuiteWhole(Answer):
    suite: str
    title: str
    about: str
    benchmarks: list[BenchmarkAbout]
