"""The files of a boot: boot.json, samples.json and environment.json."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.values import (
    MOST_READINGS,
    MOST_SAMPLES,
    CaseName,
    Count,
    Moment,
    Name,
    Number,
    OfCase,
    OutcomeRecord,
    Part,
    Position,
    Stage,
    Text,
    are_lines,
    refuse_lines,
)
from cliffwatch.samples import CaseKey, Sample

Version = Literal[1]
"""The format version of a boot's files."""


class SplatRecord(Part, frozen=True, kw_only=True):
    """An error report of the guest's kernel. `case` is the case that was running; null if none was."""

    title: str = ""
    text: str = ""
    case: str | None = None


class PartRecord(Part, frozen=True, kw_only=True):
    """One start of the guest within a boot."""

    status: str = ""
    """complete, refused, panic, hang, lost, too-much-output, stopped or starved. Services accept any word, so
    that the results of newer runners are not lost.
    """
    seconds: Number | None = None
    """Time it took on the host."""
    last_case: str | None = None
    evidence: str = ""
    """End of the console."""
    splats: tuple[SplatRecord, ...] = ()
    unexpected_files: tuple[str, ...] = ()


class BootRecord(Part, frozen=True, kw_only=True):
    """boot.json.

    `layout` is the name of the kernel's code placement; null unless boots of one kernel have several.
    `attempt` is 1 plus the number of interruptions of the boot. Boots of a block ran in the order of `began`.
    """

    format_version: Version = 1
    index: Position
    block: Count
    arm: Name
    stage: Stage = "screen"
    layout: Name | None = None
    attempt: Position = 1
    began: Moment
    ended: Moment
    status: Name
    parts: tuple[PartRecord, ...] = ()


class SampleRecord(OfCase, frozen=True, kw_only=True):
    """The value of one metric of one case.

    `readings` are the within-boot values without warm-up. `resolution` is the smallest step that the printed
    digits can show; 0 if unknown.
    """

    metric: CaseName
    unit: CaseName
    value: Number
    readings: Annotated[tuple[Number, ...], Meta(max_length=MOST_READINGS)]
    resolution: Annotated[Number, Meta(ge=0)]

    def __post_init__(self) -> None:
        OfCase.__post_init__(self)
        if not are_lines(self.metric, self.unit):
            refuse_lines((self.metric, self.unit))

    def sample(self, case: CaseKey) -> Sample:
        """Converts the record to a sample. The samples of a case share one `case` object."""
        return Sample(
            case=case,
            metric=self.metric,
            unit=self.unit,
            value=self.value,
            readings=self.readings,
            resolution=self.resolution,
        )


def sample_record(sample: Sample) -> SampleRecord:
    case = sample.case
    return SampleRecord(
        suite=case.suite,
        benchmark=case.benchmark,
        params=dict(case.params),
        metric=sample.metric,
        unit=sample.unit,
        value=sample.value,
        readings=sample.readings,
        resolution=sample.resolution,
    )


class ProblemRecord(OfCase, frozen=True, kw_only=True):
    """A line of a case's output that is not credible."""

    line: Annotated[int, Meta(ge=0)]
    text: Text
    reason: Text


class Measured(Part, frozen=True, kw_only=True):
    """The measurements of a boot."""

    samples: Annotated[tuple[SampleRecord, ...], Meta(max_length=MOST_SAMPLES)]
    outcomes: Annotated[tuple[OutcomeRecord, ...], Meta(max_length=MOST_SAMPLES)]
    problems: Annotated[tuple[ProblemRecord, ...], Meta(max_length=MOST_SAMPLES)] = ()


class SamplesRecord(Measured, frozen=True, kw_only=True):
    """samples.json."""

    format_version: Version = 1


class EnvironmentRecord(Part, frozen=True, kw_only=True):
    """environment.json: what the guest reported about itself. null: not shown."""

    format_version: Version = 1
    parts: Count
    """Starts of the guest in this boot."""
    kernel: str | None
    command_line: str | None
    cpu_model: str | None
    cpu_flags_hypervisor: bool
    microcode: str | None
    cpus: int | None
    memory_kib: int | None
    clocksource: str | None
    root_file_system: str | None
    host_bridge: str | None
    bpf_jit_enable: str | None
    bpf_jit_harden: str | None
    bpf_stats_enabled: str | None
    randomize_va_space: str | None
    transparent_hugepage: str | None
    lsm: str | None
    tainted: str | None
    load_average: str | None
    vulnerabilities: dict[str, str]
    config_sha256: str | None
    config_from: Literal["kernel", "package"] | None = None
    """Who showed the configuration: the kernel, or the package it came in."""
    steal_seconds: float | None
