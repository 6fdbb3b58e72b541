"""run.json: the description of a run."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from cliffwatch.formats.arms.declared_metrics import DeclaredMetricRecord
from cliffwatch.formats.arms.imported import ImportedRecord
from cliffwatch.formats.host_facts import HostFacts
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
    """The shape of the guest that a case ran in. `possible_cpus` is null if it equals `cpus`."""

    cpus: Annotated[int, Meta(ge=1, le=4096)]
    memory_mib: Annotated[int, Meta(ge=1, le=1 << 40)] | None
    possible_cpus: Annotated[int, Meta(ge=1, le=4096)] | None = None
    numa_nodes: Annotated[int, Meta(ge=1, le=1024)] = 1


class PlannedCaseRecord(OfCase, frozen=True, kw_only=True):
    """A case of a plan.

    `warmup`, `duration` and `deadline` are seconds of guest time; null for imported files. `guest` is null if
    unknown.
    """

    argv: Annotated[tuple[Text, ...], Meta(max_length=100)]
    warmup: Count | None = None
    duration: Count | None = None
    deadline: Count | None = None
    guest: CaseGuest | None = None


class LookRecord(Part, frozen=True, kw_only=True):
    """A look of the second stage: its boots per arm, and its share of the error."""

    boots: Count
    alpha: Share


class StagesRecord(Part, frozen=True, kw_only=True):
    """The stages of a plan: boots per arm and error of the screen, and the looks after it."""

    screen: Count
    screen_alpha: Share
    looks: Annotated[tuple[LookRecord, ...], Meta(max_length=100)]

    @property
    def stages(self) -> Stages:
        looks = tuple(Look(boots=look.boots, alpha=look.alpha) for look in self.looks)
        return Stages(screen=self.screen, screen_alpha=self.screen_alpha, looks=looks)


class PlannedBootRecord(Part, frozen=True, kw_only=True):
    """A boot of a plan.

    `cases` are indexes into the plan's cases, in execution order; null if unknown. `duration` is how many
    seconds each case measures; null for the case's own.
    """

    index: Position
    block: Count
    arm: Name
    stage: Stage = "screen"
    cases: Annotated[tuple[Count, ...], Meta(max_length=LARGEST_PLAN)] | None = None
    duration: Count | None = None


class PlanRecord(Part, frozen=True, kw_only=True):
    """The plan of a run.

    `notable` is the requested threshold, a fraction; null means each row's default. `stages` is null if there
    is only one stage. `layouts` is how many images of each kernel the first stage boots that differ only
    in where code lies. `seconds` is the time for all boots and links; null if boots were planned by number.
    """

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    notable: Share | None = None
    stages: StagesRecord | None = None
    layouts: Count = 1
    seconds: Annotated[float, Meta(gt=0, le=1e9)] | None = None
    cases: Annotated[tuple[PlannedCaseRecord, ...], Meta(max_length=LARGEST_PLAN)]
    boots: Annotated[tuple[PlannedBootRecord, ...], Meta(max_length=MOST_BOOTS)]


class ArmFacts(Part, omit_defaults=True, frozen=True, kw_only=True):
    """Facts about an arm's revision and kernel.

    A member is absent if it is unknown; `kernel` and `config` are also absent if no kernel was built.
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
        """Returns the facts that are texts, by name."""
        return {
            name: value for name in self.__struct_fields__ if isinstance(value := getattr(self, name), str)
        }


class FailureRecord(Part, frozen=True, kw_only=True):
    """Why an arm could not be measured."""

    whose: Party
    message: LongText
    next_step: LongText
    evidence: LongText


class SettingsRecord(Part, omit_defaults=True, frozen=True, kw_only=True):
    """Intended differences of an arm.

    `boot`: kernel command line arguments. `writes`: texts by guest file, written before the first case.
    `config`: names of configuration fragments. `cc`: the compiler. `modules`: Go modules with the requested
    version or folder.
    """

    boot: Annotated[tuple[Text, ...], Meta(max_length=100)] = ()
    writes: Annotated[dict[Text, Text], Meta(max_length=100)] = msgspec.field(default_factory=dict)
    config: Annotated[tuple[Text, ...], Meta(max_length=100)] = ()
    cc: Text | None = None
    modules: Annotated[dict[Text, Text], Meta(max_length=100)] = msgspec.field(default_factory=dict)


class ArmRecord(Part, frozen=True, kw_only=True):
    """An arm.

    `label` is its description for people. `settings` is null if the arm has only the run's settings,
    `toolchain` is null if it was built with the run's toolchain, and `failure` is null if the arm was
    measured.
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
    """The bench program.

    `from`: the arm whose revision it was built from. `digest`: of the program. `source_digest`: of its
    sources. `fixed_seed`: whether its random seed is fixed. A member is absent if it is unknown.
    """

    from_: Name | None = None
    digest: Digest | None = None
    source_digest: Digest | None = None
    fixed_seed: bool | None = None


class ProgramRecord(Part, frozen=True, kw_only=True):
    """A suite's own program.

    `name`: its file. `digest`: of the program. `source_digest`: of its sources and of the tools that built
    it. `fixed_seed`: whether its random seed is fixed; null for a script, whose programs may differ. `arms`:
    the arms that ran it; empty if all did. `go`: Go's version output; null if it was not built with Go.
    `modules`: versions of the Go modules that were fetched for it.
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
    """The user's data file that programs read."""

    name: Name
    bytes: Count
    sha256: Digest


class GuestFacts(Part, frozen=True, kw_only=True):
    """The members of run.json's `guest` that are used.

    `accelerator` is `kvm` in walltime, `tcg` in a rehearsal of it, and `tcg,icount` in icount.
    """

    accelerator: Text | None = None
    cpus: Annotated[int, Meta(ge=1, le=4096)] | None = None
    memory_mib: Annotated[int, Meta(ge=1, le=1 << 40)] | None = None


class ToolchainFacts(Part, rename={"bpf_clang": "bpf-clang"}, frozen=True, kw_only=True):
    """The members of run.json's `toolchain` that are used: the version output of the tools.

    `gcc` or `clang` compiled the kernel, `bpf-clang` the BPF programs.
    """

    gcc: Text | None = None
    clang: Text | None = None
    bpf_clang: Text | None = None
    pahole: Text | None = None


class RunRecord(Part, frozen=True, kw_only=True):
    """run.json.

    The other arms are compared with the first one. `guest`, `host` and `toolchain` are kept exactly as
    written, because the environment's identity is computed from all of them. Members are null or absent if an
    imported file does not have them. `host_faults` are the doctor's checks that failed before a walltime run,
    so the host is not a bench host. `chosen` are sentences that open every report: how commits and suites
    were resolved from the request, and why. `links` are the seconds of each link of a kernel in a further
    layout before the first boot; those from the cache are not in it.
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
    links: Annotated[tuple[Annotated[float, Meta(ge=0)], ...], Meta(max_length=10_000)] = ()
    imported: ImportedRecord | None = None
    """The facts of an imported file; null for a run that a host measured."""

    @property
    def arm_by_name(self) -> Mapping[str, ArmRecord]:
        return {arm.name: arm for arm in self.arms}

    @property
    def layouts(self) -> int | None:
        """Layouts of each kernel in the first stage; None where instructions are counted."""
        return self.plan.layouts if self.mode == "walltime" else None

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
"""Free-form members of run.json, with the types that parts of them must match."""


def stages_record(stages: Stages | None) -> StagesRecord | None:
    if stages is None:
        return None
    looks = tuple(LookRecord(boots=look.boots, alpha=look.alpha) for look in stages.looks)
    return StagesRecord(screen=stages.screen, screen_alpha=stages.screen_alpha, looks=looks)
