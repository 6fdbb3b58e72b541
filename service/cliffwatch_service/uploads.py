"""What hosts send: run.json and the files of a boot (docs/formats.md), held against their types before anything is done."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, AwareDatetime, Field, StringConstraints, TypeAdapter, with_config
from typing_extensions import TypedDict

from cliffwatch.parsers.kinds import KIND_METRICS

LARGEST_PLAN = 5000
"""Cases of a run."""

MOST_BOOTS = 10_000

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""Of a suite, benchmark, parameter, metric, platform or host."""

Text = Annotated[str, StringConstraints(max_length=4000)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8,64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Params = Annotated[dict[Name, Annotated[str, StringConstraints(max_length=200)]], Field(max_length=32)]

UNITS = frozenset(shape.unit for shapes in KIND_METRICS.values() for shape in shapes.values())


def _known_unit(unit: str) -> str:
    if unit not in UNITS:
        raise ValueError(f"unknown unit; known are {', '.join(sorted(UNITS))}")
    return unit


Unit = Annotated[str, AfterValidator(_known_unit), Field(json_schema_extra={"enum": sorted(UNITS)})]


@with_config(extra="allow")
class PlannedCase(TypedDict):
    suite: Name
    benchmark: Name
    params: Params


@with_config(extra="allow")
class PlannedBoot(TypedDict):
    index: Annotated[int, Field(ge=1, le=MOST_BOOTS)]
    block: Count
    arm: Name
    stage: NotRequired[Literal["screen", "confirm"]]


@with_config(extra="allow")
class PlanRecord(TypedDict):
    seed: int
    notable: NotRequired[Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None]
    stages: NotRequired[dict[str, Any] | None]
    cases: Annotated[list[PlannedCase], Field(max_length=LARGEST_PLAN)]
    boots: Annotated[list[PlannedBoot], Field(max_length=MOST_BOOTS)]


@with_config(extra="allow")
class ArmFacts(TypedDict, total=False):
    """`parents`, `author`, `commit_date` and `patch_id` are told by runners from 0.2 on."""

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
class ArmRecord(TypedDict):
    label: Text
    facts: ArmFacts
    failure: NotRequired[dict[str, Any] | None]


@with_config(extra="allow")
class RunRecord(TypedDict):
    """run.json of format version 1."""

    format: Literal["cliffwatch-run"]
    format_version: Literal[1]
    cliffwatch_version: Name
    created: AwareDatetime
    status: Literal["running", "incomplete", "complete"]
    identity: Digest
    mode: Literal["walltime", "icount"]
    platform: Name
    tree: Text
    arms: Annotated[dict[Name, ArmRecord], Field(min_length=1, max_length=8)]
    config_digest: NotRequired[Digest]
    plan: PlanRecord
    toolchain: NotRequired[dict[str, Any]]
    guest: NotRequired[dict[str, Any]]
    bench: NotRequired[dict[str, Any]]
    host: NotRequired[dict[str, Any]]


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
    began: AwareDatetime
    ended: AwareDatetime
    status: Name


class BootUpload(TypedDict):
    """boot.json, environment.json and what samples.json holds."""

    boot: BootAbout
    environment: NotRequired[dict[str, Any]]
    samples: Annotated[list[SampleUpload], Field(max_length=50_000)]
    outcomes: Annotated[list[OutcomeUpload], Field(max_length=50_000)]
    problems: NotRequired[Annotated[list[dict[str, Any]], Field(max_length=50_000)]]


RUN = TypeAdapter(RunUpload)
BOOT = TypeAdapter(BootUpload)
