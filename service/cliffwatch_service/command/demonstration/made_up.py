"""Made-up walltime runs that show weeks of history, which cannot be measured while a newcomer waits.

Levels come from the published local-storage table, noise is random, and STEPS defines the steps. The notes of
each run say that it is made up.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.formats.boot_record import BootRecord, SampleRecord
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.run_record import (
    FORMAT,
    FORMAT_VERSION,
    ArmFacts,
    ArmRecord,
    BenchRecord,
    CaseGuest,
    PlannedBootRecord,
    PlannedCaseRecord,
    PlanRecord,
    RunRecord,
)
from cliffwatch.formats.uploads import BootUpload
from cliffwatch.formats.values import OutcomeRecord
from cliffwatch.identities import digest_of
from cliffwatch_service.command.demonstration.demo_run import DemoBoot, DemoRun
from cliffwatch_service.history.published_results import PARAMETERS, read_published

TREE = "https://git.example.org/demonstration.git"
BRANCH = "for-next"
REVISIONS = 40
NOTE = "made up for the demonstration: nothing was booted"

PLATFORMS: Mapping[str, tuple[str, str, float]] = {
    "amd-rome": ("rome-1", "AMD EPYC 7502", 1.18),
    "intel-skylake": ("skylake-1", "Intel Xeon Gold 6138", 1.0),
}
"""By platform: host, processor, and the factor by which it is slower than the published table."""

_SPREAD = 0.004
"""Relative standard deviation between boots."""

_BOOTS = 8
"""Boots per arm."""


@dataclass(frozen=True, slots=True)
class MadeUpStep:
    """A step in the history of a benchmark on one platform."""

    at: int
    """The first revision after the step, counted along the branch."""

    platform: str
    benchmark: str
    factor: float
    """Latency after the step relative to before."""

    value: str | None = None
    """The parameter value of the case that steps; None for all cases of the benchmark."""


STEPS = (
    MadeUpStep(9, "amd-rome", "local-storage-cache-seq-get", 0.94),
    MadeUpStep(9, "intel-skylake", "local-storage-cache-seq-get", 0.95),
    MadeUpStep(17, "amd-rome", "local-storage-cache-hashmap-control", 1.041),
    MadeUpStep(25, "amd-rome", "local-storage-cache-int-get", 1.035, "17"),
    MadeUpStep(25, "intel-skylake", "local-storage-cache-int-get", 0.962, "17"),
    MadeUpStep(33, "amd-rome", "local-storage-cache-seq-get", 1.052),
    MadeUpStep(33, "intel-skylake", "local-storage-cache-seq-get", 1.047),
)

SUBJECTS = {
    9: "bpf: Keep the local storage cache slot in a register",
    17: "bpf: Count hash map lookups for bpftool",
    25: "bpf: Prefetch the next local storage element",
    33: "bpf: Check the owner of a local storage element",
}

_NEW_COMPILER = 21
"""The first revision that is built with a newer compiler, where a new epoch begins."""

_RELEASES = ((0, "6.12.0"), (14, "6.13.0-rc1"), (28, "6.13.0-rc5"))
"""The first revision of each kernel release."""


@dataclass(frozen=True, slots=True)
class Side:
    """A revision to measure."""

    commit: str
    subject: str
    ordinal: int
    """Position along the branch, from 0."""

    parents: tuple[str, ...] = ()
    author: str = "Cliffwatch"
    factors: Mapping[str, float] = field(default_factory=dict)
    """Latency of each benchmark relative to the branch; 1 if a benchmark is not named."""


def commit_of(ordinal: int) -> str:
    return digest_of(["demonstration", ordinal]) + "0" * 8


def side_of(ordinal: int) -> Side:
    subject = SUBJECTS.get(ordinal, f"bpf: Change number {ordinal} of the demonstration")
    return Side(commit_of(ordinal), subject, ordinal, (commit_of(ordinal - 1),) if ordinal else ())


def branch_runs(now: datetime) -> Iterator[DemoRun]:
    """Compares every revision of the branch with its parent, on both platforms."""
    for ordinal in range(1, REVISIONS):
        for platform in PLATFORMS:
            when = now - timedelta(hours=12 * (REVISIONS - ordinal))
            yield made_up_run(
                side_of(ordinal - 1), side_of(ordinal), platform, when, control=ordinal % 8 == 1
            )


def pull_request_run(now: datetime) -> DemoRun:
    """The run of a pull request that is based on an older revision of the branch."""
    base = side_of(30)
    head = Side(
        digest_of(["demonstration", "pull request"]) + "0" * 8,
        "bpf: Look up local storage without the lock",
        30,
        (base.commit,),
        factors={"local-storage-cache-seq-get": 0.93},
    )
    return made_up_run(base, head, "amd-rome", now - timedelta(hours=3), control=True)


def made_up_run(base: Side, head: Side, platform: str, when: datetime, *, control: bool) -> DemoRun:
    """Makes a run of both sides in blocks of one boot per arm. `control` adds base under a second name."""
    host, processor, slower = PLATFORMS[platform]
    arms = {"base": base, "head": head} | ({"control": base} if control else {})
    levels = _levels()
    compiler = "gcc 13.3.0" if head.ordinal < _NEW_COMPILER else "gcc 14.2.0"
    record = _record(arms, platform, when, processor, compiler, list(levels))
    drawn = np.random.default_rng(int(digest_of([base.commit, head.commit, platform])[:8], 16))
    boots = []
    for planned in record.plan.boots:
        side = arms[planned.arm]
        values = {
            case: level * slower * _factor(side, platform, *case) * float(np.exp(drawn.normal(0, _SPREAD)))
            for case, level in levels.items()
        }
        boots.append(DemoBoot(planned.index, as_json(_boot(planned, values, when))))
    return DemoRun(host, record, boots, when + timedelta(hours=1))


Case = tuple[str, str, str]
"""Benchmark, parameter name, parameter value."""


def _levels() -> dict[Case, float]:
    """Returns the published latencies of the standard profile's cases, in ns."""
    published = {
        (row["benchmark"], PARAMETERS.get(row["param"], row["param"]), row["value"]): float(row["latency_ns"])
        for row in read_published("local-storage-2022-skylake.csv")
        if row["run"] == "measured"
    }
    suite = next(suite for suite in load_catalogue().suites if suite.name == "local-storage")
    keys = [(case.key.benchmark, *pair) for case in suite.cases("standard") for pair in case.key.params[:1]]
    return {key: published[key] for key in keys if key in published}


def _factor(side: Side, platform: str, benchmark: str, _parameter: str, value: str) -> float:
    factor = side.factors.get(benchmark, 1.0)
    for step in STEPS:
        if (
            (step.platform, step.benchmark) == (platform, benchmark)
            and side.ordinal >= step.at
            and step.value in (None, value)
        ):
            factor *= step.factor
    return factor


def _record(
    arms: Mapping[str, Side],
    platform: str,
    when: datetime,
    processor: str,
    compiler: str,
    cases: Sequence[Case],
) -> RunRecord:
    return RunRecord(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        cliffwatch_version="0.1.0",
        created=when.isoformat(),
        status="complete",
        identity=digest_of(["made up", *(side.commit for side in arms.values()), platform]),
        mode="walltime",
        platform=platform,
        profile="standard",
        suites=("local-storage",),
        tree=TREE,
        arms=tuple(_arm(name, side) for name, side in arms.items()),
        bench=BenchRecord(
            from_="head", digest="0" * 32, source_digest=digest_of("made up"), fixed_seed=False
        ),
        config_digest=digest_of("made up config") * 2,
        toolchain={"gcc": compiler},
        guest={"accelerator": "kvm", "machine": "q35", "cpus": _GUEST.cpus, "memory_mib": _GUEST.memory_mib},
        plan=_plan(list(arms), cases),
        host={"cpu": {"model_name": processor, "microcode": ["0x0"]}},
        notes=(NOTE,),
    )


_GUEST = CaseGuest(cpus=4, memory_mib=4096)


def _plan(arms: Sequence[str], cases: Sequence[Case]) -> PlanRecord:
    return PlanRecord(
        seed=1,
        cases=tuple(
            PlannedCaseRecord(
                suite="local-storage",
                benchmark=benchmark,
                params={name: value},
                argv=(f"--{name}", value, benchmark),
                guest=_GUEST,
            )
            for benchmark, name, value in cases
        ),
        boots=tuple(
            PlannedBootRecord(
                index=1 + len(arms) * block + position,
                block=block,
                arm=arms[(position + block) % len(arms)],
                cases=tuple(range(len(cases))),
            )
            for block in range(_BOOTS)
            for position in range(len(arms))
        ),
    )


def _arm(name: str, side: Side) -> ArmRecord:
    release = next(name for first, name in reversed(_RELEASES) if side.ordinal >= first)
    return ArmRecord(
        name=name,
        label=f"{side.commit[:12]} ({side.subject})",
        facts=ArmFacts(
            commit=side.commit,
            release=release,
            subject=side.subject,
            author=side.author,
            parents=side.parents,
            kernel=side.commit[:32],
            config=digest_of("made up config") * 2,
        ),
    )


def _boot(planned: PlannedBootRecord, values: Mapping[Case, float], when: datetime) -> BootUpload:
    began = when + timedelta(minutes=planned.index)
    return BootUpload(
        boot=BootRecord(
            index=planned.index,
            block=planned.block,
            arm=planned.arm,
            began=began.isoformat(),
            ended=(began + timedelta(seconds=55)).isoformat(),
            status="complete",
        ),
        samples=tuple(
            SampleRecord(
                suite="local-storage",
                benchmark=benchmark,
                params={name: parameter},
                metric="hits-latency",
                unit="ns/op",
                value=round(value, 3),
                readings=(round(value, 3),),
                resolution=0.001,
            )
            for (benchmark, name, parameter), value in values.items()
        ),
        outcomes=tuple(
            OutcomeRecord(
                suite="local-storage", benchmark=benchmark, params={name: parameter}, status="ok", reason=""
            )
            for benchmark, name, parameter in values
        ),
    )
