"""The parts of KCIDB's I/O format that Cliffwatch writes."""

from cliffwatch.formats.values import Part


class Member(Part, omit_defaults=True, frozen=True, kw_only=True):
    """A part of a report. Leaves out unknown and empty values: KCIDB does not allow null."""


class Version(Member, frozen=True, kw_only=True):
    major: int
    minor: int


class Checkout(Member, frozen=True, kw_only=True):
    id: str
    origin: str
    git_repository_url: str = ""
    git_commit_hash: str = ""
    start_time: str = ""
    comment: str = ""
    valid: bool
    misc: dict[str, str]


class Build(Member, frozen=True, kw_only=True):
    checkout_id: str
    id: str
    origin: str
    architecture: str = ""
    compiler: str = ""
    start_time: str = ""
    comment: str = ""
    status: str
    log_excerpt: str = ""
    misc: dict[str, str]


class Environment(Member, frozen=True, kw_only=True):
    comment: str = ""
    misc: dict[str, str]


class Value(Member, frozen=True, kw_only=True):
    value: float
    unit: str


class Metric(Member, frozen=True, kw_only=True):
    metric: str
    unit: str
    median: float
    boots: tuple[float, ...]


class Measured(Member, frozen=True, kw_only=True):
    arm: str
    suite: str
    benchmark: str
    params: dict[str, str]
    metric: str | None = None
    metrics: tuple[Metric, ...]


class Test(Member, frozen=True, kw_only=True):
    build_id: str
    id: str
    origin: str
    environment: Environment
    path: str
    comment: str = ""
    status: str
    log_excerpt: str = ""
    number: Value | None = None
    misc: Measured


class Report(Member, frozen=True, kw_only=True):
    version: Version
    checkouts: tuple[Checkout, ...]
    builds: tuple[Build, ...]
    tests: tuple[Test, ...]
