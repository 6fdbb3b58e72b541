"""run.json: what was run."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from cliffwatch.formats.arms.declared_metrics import DeclaredMetricRecord
from cliffwatch.formats.arms.imported import ImportedRecord
from cliffwatch.formats.reading import convert
from cliffwatch.formats.values import (
    LARGEST_PLAN,
    MOST_ARMS,
    MOST_BOOTS,
    Commit,
    Count,
    Date,
    Digest,
    FreeJson,
    LongText,
    Moment,
    Name,
    OfCase,
    OutcomeRecord,
    Part,
    Party,
    Position,
    Share,
    Stage,
    Text,
)
from cliffwatch.samples import Mode
from cliffwatch.stats.stages import Look, Stages

FORMAT: Final = "cliffwatch-run"
FORMAT_VERSION: Final = 1

RunStatus = Literal["running", "incomplete", "complete"]


class CaseGuest(Part, frozen=True, kw_only=True):
    """The shape of the guest that a case ran in; `possible_cpus` null: those that are there."""

    cpus: Annotated[int, Meta(ge=1, le=4096)]
    memory_mib: Annotated[int, Meta(ge=1, le=1 << 40)] | None
    possible_cpus: Annotated[int, Meta(ge=1, le=4096)] | None = None
    numa_nodes: Annotated[int, Meta(ge=1, le=1024)] = 1


class PlannedCaseRecord(OfCase, frozen=True, kw_only=True):
    """A case of a plan. `warmup`, `duration` and `deadline` are seconds of guest time, null where a file was
    imported; `guest` is null where it is not known.
    """

    argv: Annotated[tuple[Text, ...], Meta(max_length=100)]
    warmup: Count | None = None
    duration: Count | None = None
    deadline: Count | None = None
    guest: CaseGuest | None = None


class LookRecord(Part, frozen=True, kw_only=True):
    """A look of the second stage, with the boots an arm and the error that it has."""

    boots: Count
    alpha: Share


class StagesRecord(Part, frozen=True, kw_only=True):
    """When a plan grows: boots an arm and error of the screen, and the looks after it."""

    screen: Count
    screen_alpha: Share
    looks: Annotated[tuple[LookRecord, ...], Meta(max_length=100)]

    @property
    def stages(self) -> Stages:
        looks = tuple(Look(boots=look.boots, alpha=look.alpha) for look in self.looks)
        return Stages(screen=self.screen, screen_alpha=self.screen_alpha, looks=looks)


class PlannedBootRecord(Part, frozen=True, kw_only=True):
    """A boot of a plan; `cases` are positions in the plan's cases in the order in which they run, null where
    it is not known.
    """

    index: Position
    block: Count
    arm: Name
    stage: Stage = "screen"
    cases: Annotated[tuple[Count, ...], Meta(max_length=LARGEST_PLAN)] | None = None


class PlanRecord(Part, frozen=True, kw_only=True):
    """`notable` is the threshold that was asked for, a fraction; null: each row's default. `stages` null: one
    stage.
    """

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    notable: Share | None = None
    stages: StagesRecord | None = None
    cases: Annotated[tuple[PlannedCaseRecord, ...], Meta(max_length=LARGEST_PLAN)]
    boots: Annotated[tuple[PlannedBootRecord, ...], Meta(max_length=MOST_BOOTS)]


class ArmFacts(Part, omit_defaults=True, frozen=True, kw_only=True):
    """What is known of an arm's revision and kernel; absent is what is not known, `kernel` and `config` where
    none was built.
    """

    commit: Commit | None = None
    tree: Digest | None = None
    release: Name | None = None
    subject: Text | None = None
    author: Text | None = None
    author_date: Date | None = None
    commit_date: Date | None = None
    parents: Annotated[tuple[Commit, ...], Meta(max_length=100)] = ()
    patch_id: Digest | None = None
    kernel: Digest | None = None
    config: Digest | None = None

    def texts(self) -> dict[str, str]:
        """The facts that are one text, by name."""
        return {
            name: value for name in self.__struct_fields__ if isinstance(value := getattr(self, name), str)
        }


class FailureRecord(Part, frozen=True, kw_only=True):
    """Why an arm gave nothing."""

    whose: Party
    message: LongText
    next_step: LongText
    evidence: LongText


class SettingsRecord(Part, omit_defaults=True, frozen=True, kw_only=True):
    """What was meant to differ: arguments of the kernel's command line, what was written into which of the
    guest's files before the first case, fragments of configuration by their names, a compiler, and Go
    modules with the version or folder that was asked for.
    """

    boot: Annotated[tuple[Text, ...], Meta(max_length=100)] = ()
    writes: Annotated[dict[Text, Text], Meta(max_length=100)] = msgspec.field(default_factory=dict)
    config: Annotated[tuple[Text, ...], Meta(max_length=100)] = ()
    cc: Text | None = None
    modules: Annotated[dict[Text, Text], Meta(max_length=100)] = msgspec.field(default_factory=dict)


class ArmRecord(Part, frozen=True, kw_only=True):
    """An arm: `label` is what people read; `settings` is null where it has none but those of the run,
    `toolchain` where it was built with the run's; `failure` is null where it was measured.
    """

    name: Name
    label: Text
    facts: ArmFacts
    settings: SettingsRecord | None = None
    toolchain: FreeJson | None = None
    config_notes: tuple[LongText, ...] = ()
    failure: FailureRecord | None = None

    @property
    def toolchain_facts(self) -> "ToolchainFacts | None":
        return None if self.toolchain is None else convert(self.toolchain, ToolchainFacts)


class BenchRecord(Part, rename={"from_": "from"}, omit_defaults=True, frozen=True, kw_only=True):
    """The bench program: of which revision, digests of it and of its sources, whether its random numbers are
    fixed; absent is not known.
    """

    from_: Name | None = None
    digest: Digest | None = None
    source_digest: Digest | None = None
    fixed_seed: bool | None = None


class ProgramRecord(Part, frozen=True, kw_only=True):
    """The program that a suite brought: its file, digests of it and of what it was built from and with;
    `fixed_seed` says whether its random numbers are fixed, null of a script, whose programs may differ.
    `arms` are those that ran it, empty of one that all ran; `go` is what go says of itself, null of a
    program that was not built with it, and `modules` has the versions of Go modules that were fetched for
    it.
    """

    suite: Name
    name: Name
    digest: Digest
    source_digest: Digest
    fixed_seed: bool | None
    arms: Annotated[tuple[Name, ...], Meta(max_length=MOST_ARMS)] = ()
    go: Text | None = None
    modules: Annotated[dict[Text, Text], Meta(max_length=2000)] = msgspec.field(default_factory=dict)

    def ran_on(self, arm: str) -> bool:
        return not self.arms or arm in self.arms


class DataRecord(Part, frozen=True, kw_only=True):
    """The file of the user's that programs read."""

    name: Name
    bytes: Count
    sha256: Digest


class GuestFacts(Part, frozen=True, kw_only=True):
    """What is read of run.json's `guest`."""

    cpus: Annotated[int, Meta(ge=1, le=4096)] | None = None
    memory_mib: Annotated[int, Meta(ge=1, le=1 << 40)] | None = None


class ProcessorFacts(Part, frozen=True, kw_only=True):
    """What is read of a host's processor."""

    model_name: Text | None = None
    microcode: Annotated[tuple[Name, ...], Meta(max_length=4096)] | None = None


class HostFacts(Part, frozen=True, kw_only=True):
    """What is read of run.json's `host`."""

    cpu: ProcessorFacts | None = None


class ToolchainFacts(Part, frozen=True, kw_only=True):
    """What is read of run.json's `toolchain`: what the compilers say of themselves."""

    gcc: Text | None = None
    clang: Text | None = None


class RunRecord(Part, frozen=True, kw_only=True):
    """run.json. The first arm is what the others are compared with. `guest`, `host` and `toolchain` stay as
    they were written, as the identity of an environment is made of all of them; null or absent is what a
    file that was imported cannot say. `host_faults` are the doctor's checks that failed before a walltime
    run: what keeps its host from being a bench host. `chosen` are the sentences that open every report:
    which commits and suites were taken for what was named, and why.
    """

    format: Literal["cliffwatch-run"]
    format_version: Literal[1]
    cliffwatch_version: Name
    created: Moment
    status: RunStatus
    identity: Digest
    mode: Mode
    platform: Name
    profile: Name | None = None
    suites: Annotated[tuple[Name, ...], Meta(max_length=200)] = ()
    tree: Text
    arms: Annotated[tuple[ArmRecord, ...], Meta(min_length=1, max_length=MOST_ARMS)]
    bench: BenchRecord | None = None
    programs: Annotated[tuple[ProgramRecord, ...], Meta(max_length=200)] = ()
    declared: Annotated[tuple[DeclaredMetricRecord, ...], Meta(max_length=LARGEST_PLAN)] = ()
    data: DataRecord | None = None
    config_digest: Digest | None = None
    toolchain: FreeJson | None = None
    isolation: Text | None = None
    guest: FreeJson | None = None
    plan: PlanRecord
    left_out: Annotated[tuple[OutcomeRecord, ...], Meta(max_length=50_000)] = ()
    host: FreeJson | None = None
    host_faults: Annotated[tuple[Text, ...], Meta(max_length=100)] = ()
    notes: Annotated[tuple[LongText, ...], Meta(max_length=1000)] = ()
    chosen: Annotated[tuple[LongText, ...], Meta(max_length=100)] = ()
    imported: ImportedRecord | None = None
    """Of a file that was imported; null of what a host measured."""

    @property
    def arm_by_name(self) -> Mapping[str, ArmRecord]:
        return {arm.name: arm for arm in self.arms}

    @property
    def stages(self) -> Stages | None:
        return None if self.plan.stages is None else self.plan.stages.stages

    @property
    def guest_facts(self) -> GuestFacts:
        return convert(self.guest or {}, GuestFacts)

    @property
    def host_facts(self) -> HostFacts:
        return convert(self.host or {}, HostFacts)

    @property
    def toolchain_facts(self) -> ToolchainFacts:
        return convert(self.toolchain or {}, ToolchainFacts)


FREE_PARTS: Mapping[str, type[Part]] = {"guest": GuestFacts, "host": HostFacts, "toolchain": ToolchainFacts}
"""Members of run.json whose form is free, and what must be so in them all the same."""


def stages_record(stages: Stages | None) -> StagesRecord | None:
    if stages is None:
        return None
    looks = tuple(LookRecord(boots=look.boots, alpha=look.alpha) for look in stages.looks)
    return StagesRecord(screen=stages.screen, screen_alpha=stages.screen_alpha, looks=looks)
