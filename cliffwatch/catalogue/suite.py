"""A suite: benchmarks, their cases, and the metrics that they print."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cliffwatch.parsers.bench.kind import MetricShape
from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch.parsers.per_operation import INSTRUCTIONS, as_instructions, nanoseconds
from cliffwatch.samples import GUEST_CPUS, Assume, Better, CaseKey, Mode, Profile

SETUP_SECONDS = 2
"""Average guest seconds of a case beyond the measured ones: loading programs, filling maps."""

EMPTIED = "empty-loop:"
"""Prefix of the benchmarks of a bench built without lookups."""

Release = tuple[int, int]
"""A kernel release as (major, minor)."""


OutputForm = Literal["go-bench", "bench", "veristat", "prog-run"]
"""Form of the lines that a suite's program prints: Go benchmark format, the kernel's bench, veristat, or our
own prog-run.
"""

EVERY_OBJECT = "*"
"""Parameter value for all BPF objects that no other case names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSpec:
    """A metric of a suite."""

    unit: str
    better: Better
    primary: bool | Literal["icount"] = False
    """True if it decides the verdict of its cases, "icount" if only under icount.

    Only for suites with a program; otherwise kinds decide.
    """
    optional: bool = False
    """True if some cases of a suite with a program do not print it."""
    noisy: bool = False
    """True if it does not repeat, whatever its benchmark does."""
    counted: bool = False
    """True if it is counted in every mode."""
    repeatability: float | None = None
    """Relative difference under icount, for cases that were not measured; None for that of the benchmark."""

    def decides(self, mode: Mode | None) -> bool:
        """True if it is marked as primary in this mode."""
        return self.primary is True or self.primary == mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The program of a suite that does not run the kernel's bench."""

    build: str
    """Command line that builds it in a copy of the suite's folder; empty if the folder contains it."""
    run: str
    """Name of its file."""
    files: tuple[str, ...]
    """Further files that it needs beside it."""
    output: OutputForm
    reads_data: bool = False
    """True if it reads the file of --data."""
    objects: str | None = None
    """Parameter whose values name BPF objects; None if the program uses nothing of the tree.

    The objects, veristat and prog-run are built from the tree's selftests and placed beside the program.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class IcountTraits:
    """How a benchmark behaves if instructions are counted."""

    assume: Assume
    """"exact": equal kernels give equal values, up to `repeatability`. "nothing": values count as noisy.

    Values do not repeat if several producers contend, or if the kernel defers work.
    """
    repeatability: float
    """Relative difference, for cases that were not measured (`cliffwatch.catalogue.repeatability`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestNeeds:
    """What a case needs of its guest besides memory. None leaves the choice to the run."""

    cpus: int | None = None
    possible_cpus: int | None = None
    """CPUs that may be added later."""
    numa_nodes: int | None = None
    concurrent: bool = False
    """True if its threads must run at the same time.

    A guest that counts instructions cannot do that: its CPUs take turns on one clock.
    """

    @property
    def params(self) -> tuple[tuple[str, str], ...]:
        """The needs as parameters of the case: its guest is part of its identity."""
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
    """Form of its lines; None if unknown, so that the lines decide."""
    about: str
    since: Release
    """Release that introduced it."""
    since_uncertain: bool
    until: Release | None
    """First release in which it no longer works; None if there is none."""
    until_reason: str
    deadline: int
    """Seconds."""
    primary: str | None
    """The metric that decides; None if its kind or suite says which."""
    icount: IcountTraits
    cases: tuple[CaseSpec, ...]
    empty_loop: str = ""
    """Benchmark of this suite that runs only the loop; its times are subtracted."""
    loop_of: str = ""
    """Benchmark of bench that this is the loop of.

    Then bench is built a second time, with the lookups removed from the BPF program.
    """
    formerly: tuple[str, ...] = ()
    """Its names in older trees. The suite may have them as benchmarks too."""
    operation: str = ""
    """What each operation calls, under icount: a kernel function, or `bpf:` and the name of a BPF program.

    Empty if unknown.
    """
    timed_in_part: bool = False
    """True if bench stops its clock while it fills or empties a map. Under icount its rate then says nothing
    about the operations of the window: they are the calls of `operation`, or unknown.
    """

    @property
    def offered_as(self) -> str:
        """Its name in the list of a built bench."""
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
    """Everything after `bench` except -w and -d; all arguments of a program."""
    kind: str | None
    deadline: int
    """Seconds."""
    warmup: int
    """Seconds."""
    duration: int
    """Seconds."""
    memory_mib: int
    min_cpus: int
    icount: IcountTraits
    program: Program | None = None
    """The program it runs; None for bench."""
    metrics: Mapping[str, MetricSpec] = field(default_factory=dict, hash=False)
    """Metrics that the suite declares; empty for bench."""
    guest: GuestNeeds = ANY_GUEST
    emptied: bool = False
    """True if it runs the bench without lookups."""
    empty_loop: str = ""
    """See `Benchmark`."""
    operation: str = ""
    """See `Benchmark`."""
    timed_in_part: bool = False
    """See `Benchmark`."""
    primary: str = ""
    """The metric of bench that decides in walltime; empty for a program."""

    @property
    def guest_seconds(self) -> int:
        """Virtual seconds: bench takes warm-up + duration + 1 samples of a second (bench.c), after its
        set-up.
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
    """Patterns of source files. A change to one selects the suite if the user names none."""
    metrics: Mapping[str, MetricSpec]
    lengths: Mapping[Profile, Length]
    """Warm-up and duration of each profile."""
    benchmarks: tuple[Benchmark, ...]
    source_file: Path | None
    """None for a suite of discovered benchmarks."""
    program: Program | None = None
    """The program that the cases run; None for the kernel's bench."""

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
        """Names of a benchmark in other trees, before and after it was renamed."""
        later = (each.name for each in self.benchmarks if benchmark.name in each.formerly)
        return frozenset((*benchmark.formerly, *later))

    def shapes(self, benchmark: Benchmark, mode: Mode | None = None) -> Mapping[str, MetricShape]:
        """The metrics of a benchmark, by name.

        They come from its kind, or from the suite if that has a program; if the suite marks none as primary,
        all are. Under icount the metrics derived from them are added.
        """
        printed: Mapping[str, MetricShape]
        if self.program is None:
            printed = KIND_METRICS.get(benchmark.kind or "", {})
        else:
            marked = any(spec.primary for spec in self.metrics.values())
            printed = {
                name: MetricShape(spec.unit, spec.better, primary=spec.decides(mode) or not marked)
                for name, spec in self.metrics.items()
            }
        return printed if mode != "icount" else {**printed, **_counted_shapes(benchmark, printed)}


def _counted_shapes(benchmark: Benchmark, printed: Mapping[str, MetricShape]) -> Mapping[str, MetricShape]:
    """The metrics that icount derives from a benchmark's metrics.

    For a program, one for each time per operation. For bench, one for the primary metric.
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
        timed_in_part=benchmark.timed_in_part,
        primary=benchmark.primary
        or next((name for name, each in suite.shapes(benchmark).items() if each.primary), ""),
    )


def _with_length(word: str, length: Length) -> str:
    """A word of a program's arguments with the profile's seconds in place of `{warmup}` and `{duration}`."""
    return word.replace("{warmup}", str(length.warmup)).replace("{duration}", str(length.duration))
