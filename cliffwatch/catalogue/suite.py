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
"""The form of the lines that a suite's own program prints: the Go benchmark format, those of the kernel's bench, or those of veristat."""

EVERY_OBJECT = "*"
"""A parameter's value that stands for all BPF objects that no other case names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSpec:
    """A metric of a suite: its unit, and which way is better.

    `primary` says that it decides the verdict of its cases, of suites with a program of their own: of others the kinds say it. `optional`
    says that not every case of such a suite prints it, `noisy` that it does not repeat, whatever its benchmark does, `counted` that it is
    counted in whichever mode it was measured.
    """

    unit: str
    better: Better
    primary: bool = False
    optional: bool = False
    noisy: bool = False
    counted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The program of a suite that does not run the kernel's bench.

    `build` is a command line that makes it in a copy of the suite's folder, empty where the folder has it already; `run` names its
    file, `files` others that it needs beside it. `reads_data` says that it makes use of the file of --data where there is one. `objects` is the parameter whose values name BPF objects: they and veristat come from
    the selftests of the tree, and lie beside the program too; None of a program that takes nothing of the tree.
    """

    build: str
    run: str
    files: tuple[str, ...]
    output: OutputForm
    reads_data: bool = False
    objects: str | None = None


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
class GuestNeeds:
    """What a case needs of its guest besides memory: CPUs, CPUs that may come to be there, NUMA nodes; None leaves it to the run.

    `concurrent` says that its threads are to run at the same time, which a guest that counts instructions cannot do: its CPUs take
    turns on one clock.
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
    """One name that `bench` knows.

    `kind` is None where the catalogue does not know it and the lines will tell. `since` is the release that brought it,
    `until` the first one in which it cannot work any more. `primary` names the metric that decides.

    `formerly` are its names in trees from before it was renamed, each of which its suite may have as a benchmark too.
    `empty_loop` names the benchmark of this suite that runs the loop alone, whose times are subtracted. `loop_of` names the one of bench
    that this is the loop of: bench is built a second time for it, with the lookups taken out of the BPF program. `operation` is what each
    operation calls, under icount: a function of the kernel, or `bpf:` and the name of a BPF program; empty where nothing is known to be.
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
    empty_loop: str = ""
    loop_of: str = ""
    formerly: tuple[str, ...] = ()
    operation: str = ""

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
    """A case as a plan holds it. `argv` is everything after `bench` but -w and -d.

    `program` is what it runs instead of bench, with all of `argv`, and `metrics` what its suite declares of the values; both are empty of bench.
    `emptied`: it runs the bench without lookups; `empty_loop`, `operation`: see `Benchmark`. `primary` is the metric of bench's that decides
    in walltime; empty of a program.
    """

    key: CaseKey
    argv: tuple[str, ...]
    kind: str | None
    deadline: int
    warmup: int
    duration: int
    memory_mib: int
    min_cpus: int
    icount: IcountTraits
    program: Program | None = None
    metrics: Mapping[str, MetricSpec] = field(default_factory=dict, hash=False)
    guest: GuestNeeds = ANY_GUEST
    emptied: bool = False
    empty_loop: str = ""
    operation: str = ""
    primary: str = ""

    @property
    def guest_seconds(self) -> int:
        """Virtual seconds: bench takes warm-up + duration + 1 samples of a second (bench.c), and sets up before."""
        return self.warmup + self.duration + 1 + SETUP_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Benchmarks that belong together. `config` are lines of kernel configuration that they need and others do not; `program` is what
    their cases run, None for the kernel's bench. `touches` are patterns of the source files for which the suite is measured if nobody names one.
    """

    name: str
    title: str
    about: str
    config: tuple[str, ...]
    touches: tuple[str, ...] = ()
    metrics: Mapping[str, MetricSpec]
    lengths: Mapping[Profile, Length]
    benchmarks: tuple[Benchmark, ...]
    source_file: Path | None
    program: Program | None = None

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
        """The metrics of a benchmark, by name: those of its kind; of a suite with a program of its own those that the suite declares, of which
        all decide where none is marked. Under icount those that are made of them: see `icount_shapes`.
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
    """What is made under icount of the metrics that a benchmark prints: of its own program each time of an operation, of bench the one that decides."""
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
    """A word of a program's arguments in which the profile's seconds stand for `{warmup}` and `{duration}`."""
    return word.replace("{warmup}", str(length.warmup)).replace("{duration}", str(length.duration))
