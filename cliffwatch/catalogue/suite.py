"""What a suite is: benchmarks, their cases, and the metrics that they print."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cliffwatch.parsers.bench.kind import MetricShape
from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch.parsers.per_operation import INSTRUCTIONS, as_instructions, nanoseconds
from cliffwatch.samples import GUEST_CPUS, Assume, Better, CaseKey, Mode, Profile

SETUP_SECONDS = 2
"""Guest seconds that a case takes besides its measured ones, on average: loading programs, filling maps."""

EMPTIED = "empty-loop:"
"""Before the name of a benchmark that a bench without lookups offers."""

Release = tuple[int, int]
"""A kernel release as (major, minor)."""


OutputForm = Literal["go-bench", "bench", "veristat"]
"""The form of the lines that a suite's own program prints: the Go benchmark format, those of the kernel's
bench, or those of veristat.
"""

EVERY_OBJECT = "*"
"""A parameter's value that stands for all BPF objects that no other case names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSpec:
    """A metric of a suite."""

    unit: str
    better: Better
    primary: bool = False
    """It decides the verdict of its cases. Used for suites with their own program; else the kind says it."""
    optional: bool = False
    """Not every case prints it."""
    noisy: bool = False
    """It does not repeat under icount, whatever its benchmark does."""
    counted: bool = False
    """It is exact in every mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The program of a suite that does not run the kernel's bench."""

    build: str
    """Command line that builds it in a copy of the suite's folder; empty if nothing is built."""
    run: str
    """Its file."""
    files: tuple[str, ...]
    """Other files that it needs beside it."""
    output: OutputForm
    reads_data: bool = False
    """It reads the file given by --data."""
    objects: str | None = None
    """Parameter whose values name BPF objects of the tree's selftests, which lie beside the program together
    with veristat; None if it takes nothing from the tree.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class IcountTraits:
    """How a benchmark behaves where instructions are counted.

    "exact": equal kernels give equal values up to `repeatability`, a relative difference, of cases that
    were not measured (`cliffwatch.catalogue.repeatability`). "nothing": it does not repeat (several
    producers that contend, work that the kernel defers) and is treated as noisy.
    """

    assume: Assume
    repeatability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestNeeds:
    """What a case needs of its guest besides memory: CPUs, CPUs that may come to be there, NUMA nodes; None
    leaves it to the run.

    `concurrent` says that its threads are to run at the same time, which a guest that counts instructions
    cannot do: its CPUs take turns on one clock.
    """

    cpus: int | None = None
    possible_cpus: int | None = None
    numa_nodes: int | None = None
    concurrent: bool = False

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """As parameters of the case: the guest that a case asks for belongs to what it is."""
        named = {GUEST_CPUS: self.cpus, "possible-cpus": self.possible_cpus, "numa-nodes": self.numa_nodes}
        return tuple((name, str(value)) for name, value in named.items() if value is not None)


ANY_GUEST = GuestNeeds()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSpec:
    """One set of parameters of a benchmark, and the profiles that run it."""

    params: tuple[tuple[str, str], ...]
    argv: tuple[str, ...]
    profiles: tuple[Profile, ...]
    memory_mib: int
    min_cpus: int
    guest: GuestNeeds = ANY_GUEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark as `bench -l` names it."""

    name: str
    kind: str | None
    """Form of its output lines; None if the lines have to tell."""
    about: str
    since: Release
    """First release that has it."""
    since_uncertain: bool
    until: Release | None
    """First release in which it no longer works."""
    until_reason: str
    deadline: int
    """Seconds of the guest's clock."""
    primary: str | None
    """The metric that decides."""
    icount: IcountTraits
    cases: tuple[CaseSpec, ...]
    empty_loop: str = ""
    """Benchmark of this suite that runs the loop alone; its values are subtracted."""
    loop_of: str = ""
    """Benchmark of bench whose loop this is: bench is built once more without the lookups."""
    formerly: tuple[str, ...] = ()
    """Names in trees from before it was renamed."""
    operation: str = ""
    """What each operation calls: a kernel function, or `bpf:` and a program's name; empty if unknown."""

    @property
    def offered_as(self) -> str:
        """Its name in the list of what a built bench offers."""
        return f"{EMPTIED}{self.loop_of}" if self.loop_of else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Seconds of warm-up and of measurement, as bench's -w and -d."""

    warmup: int
    duration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCase:
    """A case as a plan holds it."""

    key: CaseKey
    argv: tuple[str, ...]
    """Everything after `bench` except -w and -d; of a program all of its arguments."""
    kind: str | None
    deadline: int
    """Seconds of the guest's clock."""
    warmup: int
    """Seconds."""
    duration: int
    """Seconds."""
    memory_mib: int
    min_cpus: int
    icount: IcountTraits
    program: Program | None = None
    """What it runs instead of bench."""
    metrics: Mapping[str, MetricSpec] = field(default_factory=dict, hash=False)
    """Metrics that its suite declares for a program; empty for bench."""
    guest: GuestNeeds = ANY_GUEST
    emptied: bool = False
    """It runs the bench without lookups."""
    empty_loop: str = ""
    """See `Benchmark`."""
    operation: str = ""
    """See `Benchmark`."""
    primary: str = ""
    """Metric of bench that decides in walltime; empty for a program."""

    @property
    def guest_seconds(self) -> int:
        """Virtual seconds: bench takes warm-up + duration + 1 samples of a second (bench.c), and sets up
        before.
        """
        return self.warmup + self.duration + 1 + SETUP_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Benchmarks that belong together."""

    name: str
    title: str
    about: str
    config: tuple[str, ...]
    """Lines of kernel configuration that only these benchmarks need."""
    touches: tuple[str, ...] = ()
    """Patterns of source files: a patch to one of them selects the suite if nobody names suites."""
    metrics: Mapping[str, MetricSpec]
    lengths: Mapping[Profile, Length]
    """Warm-up and duration of each profile."""
    benchmarks: tuple[Benchmark, ...]
    source_file: Path | None
    program: Program | None = None
    """What its cases run; None for the kernel's bench."""

    def cases(self, profile: Profile) -> tuple[PlannedCase, ...]:
        """The cases of a profile, in the catalogue's order."""
        length = self.lengths[profile]
        return tuple(
            _plan_case(self, benchmark, case, length)
            for benchmark in self.benchmarks
            for case in benchmark.cases
            if profile in case.profiles
        )

    def other_names(self, benchmark: Benchmark) -> frozenset[str]:
        """What other trees call a benchmark, before it was renamed and since."""
        later = (each.name for each in self.benchmarks if benchmark.name in each.formerly)
        return frozenset((*benchmark.formerly, *later))

    def shapes(self, benchmark: Benchmark, mode: Mode | None = None) -> Mapping[str, MetricShape]:
        """The metrics of a benchmark, by name: those of its kind; of a suite with a program of its own those
        that the suite declares, of which all decide where none is marked. Under icount those that are made
        of them: see `icount_shapes`.
        """
        printed: Mapping[str, MetricShape]
        if self.program is None:
            printed = KIND_METRICS.get(benchmark.kind or "", {})
        else:
            marked = any(spec.primary for spec in self.metrics.values())
            printed = {
                name: MetricShape(spec.unit, spec.better, primary=spec.primary or not marked)
                for name, spec in self.metrics.items()
            }
        return printed if mode != "icount" else {**printed, **_counted_shapes(benchmark, printed)}


def _counted_shapes(benchmark: Benchmark, printed: Mapping[str, MetricShape]) -> Mapping[str, MetricShape]:
    """What is made under icount of the metrics that a benchmark prints: of its own program each time of an
    operation, of bench the one that decides.
    """
    if benchmark.kind is None:
        named = {name: as_instructions(name, shape.unit) for name, shape in printed.items()}
        return {
            named_so[0]: MetricShape(named_so[1], shape.better, primary=shape.primary)
            for name, shape in printed.items()
            if (named_so := named[name]) is not None
        }
    if not any(shape.primary and nanoseconds(1.0, shape.unit) for shape in printed.values()):
        return {}
    return {INSTRUCTIONS: MetricShape(INSTRUCTIONS, "lower", primary=True)}


def _plan_case(suite: Suite, benchmark: Benchmark, case: CaseSpec, length: Length) -> PlannedCase:
    return PlannedCase(
        key=CaseKey(suite.name, benchmark.name, case.params),
        argv=case.argv if suite.program is None else tuple(_with_length(word, length) for word in case.argv),
        kind=benchmark.kind,
        deadline=benchmark.deadline,
        warmup=length.warmup,
        duration=length.duration,
        memory_mib=case.memory_mib,
        min_cpus=case.min_cpus,
        icount=benchmark.icount,
        program=suite.program,
        metrics={} if suite.program is None else suite.metrics,
        guest=case.guest,
        emptied=bool(benchmark.loop_of),
        empty_loop=benchmark.empty_loop,
        operation=benchmark.operation,
        primary=benchmark.primary
        or next((name for name, each in suite.shapes(benchmark).items() if each.primary), ""),
    )


def _with_length(word: str, length: Length) -> str:
    """A word of a program's arguments in which the profile's seconds stand for `{warmup}` and
    `{duration}`.
    """
    return word.replace("{warmup}", str(length.warmup)).replace("{duration}", str(length.duration))
