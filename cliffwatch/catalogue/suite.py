"""What a suite is: benchmarks, their cases, and the metrics that they print."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cliffwatch.samples import Assume, Better, CaseKey

Profile = Literal["smoke", "standard", "full"]
PROFILES: tuple[Profile, ...] = ("smoke", "standard", "full")

SETUP_SECONDS = 2
"""Guest seconds that a case takes besides its measured ones, on average: loading programs, filling maps."""

Release = tuple[int, int]
"""A kernel release as (major, minor)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSpec:
    """A metric of a suite: its unit, and which way is better."""

    unit: str
    better: Better


@dataclass(frozen=True, slots=True, kw_only=True)
class IcountTraits:
    """How a benchmark behaves where instructions are counted.

    "exact": equal kernels give equal values up to `repeatability`, a relative difference, of cases that were not measured
    (`cliffwatch.catalogue.repeatability`).
    "nothing": it does not repeat (several producers that contend, work that the kernel defers) and is treated as noisy.
    """

    assume: Assume
    repeatability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSpec:
    """One set of parameters of a benchmark, and the profiles that run it."""

    params: tuple[tuple[str, str], ...]
    argv: tuple[str, ...]
    profiles: tuple[Profile, ...]
    memory_mib: int
    min_cpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One name that `bench` knows.

    `kind` is None where the catalogue does not know it and the lines will tell. `since` is the release that brought it,
    `until` the first one in which it cannot work any more. `primary` names the metric that decides.
    """

    name: str
    kind: str | None
    about: str
    since: Release
    since_uncertain: bool
    until: Release | None
    until_reason: str
    deadline: int
    primary: str | None
    icount: IcountTraits
    cases: tuple[CaseSpec, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Seconds of warm-up and of measurement, as bench's -w and -d."""

    warmup: int
    duration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCase:
    """A case as a plan holds it. `argv` is everything after `bench` but -w and -d."""

    key: CaseKey
    argv: tuple[str, ...]
    kind: str | None
    deadline: int
    warmup: int
    duration: int
    memory_mib: int
    min_cpus: int
    icount: IcountTraits

    @property
    def guest_seconds(self) -> int:
        """Virtual seconds: bench takes warm-up + duration + 1 samples of a second (bench.c), and sets up before."""
        return self.warmup + self.duration + 1 + SETUP_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Benchmarks that belong together. `config` are lines of kernel configuration that they need and others do not."""

    name: str
    title: str
    about: str
    config: tuple[str, ...]
    metrics: Mapping[str, MetricSpec]
    lengths: Mapping[Profile, Length]
    benchmarks: tuple[Benchmark, ...]
    source_file: Path | None

    def cases(self, profile: Profile) -> tuple[PlannedCase, ...]:
        """The cases of a profile, in the catalogue's order."""
        length = self.lengths[profile]
        return tuple(
            _planned(self.name, benchmark, case, length)
            for benchmark in self.benchmarks
            for case in benchmark.cases
            if profile in case.profiles
        )


def _planned(suite: str, benchmark: Benchmark, case: CaseSpec, length: Length) -> PlannedCase:
    return PlannedCase(
        key=CaseKey(suite, benchmark.name, case.params),
        argv=case.argv,
        kind=benchmark.kind,
        deadline=benchmark.deadline,
        warmup=length.warmup,
        duration=length.duration,
        memory_mib=case.memory_mib,
        min_cpus=case.min_cpus,
        icount=benchmark.icount,
    )
