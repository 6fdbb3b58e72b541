"""What hosts send: run.json and the files of a boot (docs/formats.md), checked against their types before anything is done."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, StringConstraints, TypeAdapter, with_config
from typing_extensions import TypedDict

from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch_service.ingest.free_form import Moment

LARGEST_PLAN = 5000
"""Cases of a run."""

MOST_BOOTS = 10_000

LINE = r"^[^\x00-\x1f\x7f-\x9f]+$"
"""A pattern: one line, nothing that a terminal would obey."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=LINE)]
"""Of a suite, benchmark, parameter, metric, platform or host."""

Text = Annotated[str, StringConstraints(max_length=4000)]
LongText = Annotated[str, StringConstraints(max_length=1 << 16)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8,64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Params = Annotated[dict[Name, Annotated[str, StringConstraints(max_length=200)]], Field(max_length=32)]

UNITS = frozenset(shape.unit for shapes in KIND_METRICS.values() for shape in shapes.values())


def _known_unit(unit: str) -> str:
    if unit not in UNITS:
        raise ValueError(f"unknown unit; known are {', '.join(sorted(UNITS))}")
    return unit


Unit = Annotated[str, AfterValidator(_known_unit), Field(json_schema_extra={"enum": sorted(UNITS)})]


@with_config(extra="allow")
class PlannedCaseRecord(TypedDict):
    suite: Name
    benchmark: Name
    params: Params
    argv: NotRequired[Annotated[list[Text], Field(max_length=100)]]


class LookRecord(TypedDict):
    boots: Count
    alpha: Share


class StagesRecord(TypedDict):
    """When a plan grows, as the runner writes it."""

    screen: Count
    screen_alpha: Share
    looks: Annotated[list[LookRecord], Field(max_length=100)]


@with_config(extra="allow")
class PlannedBootRecord(TypedDict):
    index: Annotated[int, Field(ge=1, le=MOST_BOOTS)]
    block: Count
    arm: Name
    stage: NotRequired[Literal["screen", "confirm"]]


@with_config(extra="allow")
class PlanRecord(TypedDict):
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    notable: NotRequired[Share | None]
    stages: NotRequired[StagesRecord | None]
    cases: Annotated[list[PlannedCaseRecord], Field(max_length=LARGEST_PLAN)]
    boots: Annotated[list[PlannedBootRecord], Field(max_length=MOST_BOOTS)]


@with_config(extra="allow")
class ArmFacts(TypedDict, total=False):
    """`parents`, `author`, `commit_date` and `patch_id` are sent by runners from 0.2 on."""

    commit: Commit
    tree: Digest
    release: Name
    author_date: AwareDatetime
    commit_date: AwareDatetime
    author: Text
    subject: Text
    parents: Annotated[list[Commit], Field(max_length=100)]
    patch_id: Digest
    kernel: Digest
    config: Digest


@with_config(extra="allow")
class FailureRecord(TypedDict):
    """Why an arm gave nothing."""

    message: LongText
    whose: NotRequired[Name]
    next_step: NotRequired[LongText]
    evidence: NotRequired[LongText]


@with_config(extra="allow")
class ArmRecord(TypedDict):
    label: Text
    facts: ArmFacts
    failure: NotRequired[FailureRecord | None]


BenchRecord = TypedDict("BenchRecord", {"from": Name, "digest": Digest, "source_digest": Digest}, total=False)
BenchRecord.__pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[attr-defined]


@with_config(extra="allow")
class GuestRecord(TypedDict, total=False):
    cpus: Annotated[int, Field(ge=1, le=4096)]


@with_config(extra="allow")
class CpuRecord(TypedDict, total=False):
    model_name: Text | None
    microcode: Annotated[list[Name], Field(max_length=4096)]


@with_config(extra="allow")
class HostRecord(TypedDict, total=False):
    cpu: CpuRecord


@with_config(extra="allow")
class RunParts(TypedDict, total=False):
    """What of run.json is read where it is there, by pages and comparisons."""

    profile: Name
    suites: Annotated[list[Name], Field(max_length=200)]
    notes: Annotated[list[LongText], Field(max_length=1000)]
    config_digest: Digest
    toolchain: dict[str, Any]
    guest: GuestRecord
    bench: BenchRecord
    host: HostRecord


@with_config(extra="allow")
class RunRecord(RunParts):
    """run.json of format version 1."""

    format: Literal["cliffwatch-run"]
    format_version: Literal[1]
    cliffwatch_version: Name
    created: Moment
    status: Literal["running", "incomplete", "complete"]
    identity: Digest
    mode: Literal["walltime", "icount"]
    platform: Name
    tree: Text
    arms: Annotated[dict[Name, ArmRecord], Field(min_length=1, max_length=8)]
    plan: PlanRecord


class RunUpload(TypedDict):
    """`host` is the name of the host that measures; `job` the job that asked for it."""

    host: Name
    record: RunRecord
    job: NotRequired[str | None]


class SampleUpload(TypedDict):
    suite: Name
    benchmark: Name
    params: Params
    metric: Name
    unit: Unit
    value: Number
    readings: Annotated[list[Number], Field(max_length=100_000)]
    resolution: Annotated[Number, Field(ge=0)]


class OutcomeUpload(TypedDict):
    suite: Name
    benchmark: Name
    params: Params
    status: Literal["ok", "failed", "panic", "timeout", "unsupported", "not-run"]
    reason: Text


@with_config(extra="allow")
class BootAbout(TypedDict):
    """boot.json."""

    index: Annotated[int, Field(ge=1, le=MOST_BOOTS)]
    block: Count
    arm: Name
    stage: NotRequired[Literal["screen", "confirm"]]
    layout: NotRequired[Name | None]
    began: Moment
    ended: Moment
    status: Name


class BootUpload(TypedDict):
    """boot.json, environment.json and what samples.json holds."""

    boot: BootAbout
    environment: NotRequired[dict[str, Any]]
    samples: Annotated[list[SampleUpload], Field(max_length=50_000)]
    outcomes: Annotated[list[OutcomeUpload], Field(max_length=50_000)]
    problems: NotRequired[Annotated[list[dict[str, Any]], Field(max_length=50_000)]]


PARTS = TypeAdapter(RunParts)
RUN = TypeAdapter(RunUpload)
BOOT = TypeAdapter(BootUpload)
