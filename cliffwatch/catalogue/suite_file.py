"""The form of a suite.toml (docs/suites.md), and its conversion to a suite."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from cliffwatch.catalogue.suite import (
    Benchmark,
    CaseSpec,
    GuestNeeds,
    IcountTraits,
    Length,
    MetricSpec,
    Suite,
)
from cliffwatch.catalogue.suite import Release as KernelRelease
from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch.samples import Assume, Profile

Release = Annotated[
    str, Meta(pattern=r"^[0-9]+\.[0-9]+(?![\s\S])", description='it must be a kernel release such as "6.12"')
]
ConfigLine = Annotated[
    str,
    Meta(
        pattern=r'^CONFIG_\w+=([yn]|-?[0-9]+|0x[0-9a-fA-F]+|"[^"\n]*")(?![\s\S])',
        description="that is no line of a kernel configuration, such as CONFIG_IPV6=y",
    ),
]
Seconds = Annotated[int, Meta(ge=1, le=86_400, description="it must be 1 to 86400 seconds")]
MemoryMib = Annotated[int, Meta(ge=64, le=1 << 20, description="it must be 64 to 1048576 MiB")]
CpuCount = Annotated[int, Meta(ge=1, le=255, description="it must be 1 to 255 CPUs")]
"""At most as many as an emulated machine has."""
Difference = Annotated[float, Meta(ge=0, le=1, description="it must be a fraction of 0 to 1")]
"""Of the values of equal kernels, a fraction."""
WarmUp = Annotated[int, Meta(ge=1, description="it must be at least 1: bench refuses 0")]

Word = str | int | float
"""A word of a command line."""

Choice = str | int | float | bool
"""A parameter's value. True is an option without a value; false omits the option."""

Params = tuple[tuple[str, Choice], ...]

_SHORT = {"producers": "-p", "consumers": "-c"}


class Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. Keys without a default are required; unknown keys are errors."""


class LengthTable(Table, frozen=True, kw_only=True):
    """Seconds of warm-up and of measurement."""

    warmup: WarmUp
    duration: Seconds

    @property
    def length(self) -> Length:
        return Length(warmup=self.warmup, duration=self.duration)


class ProfilesTable(Table, frozen=True, kw_only=True):
    """The lengths of every profile."""

    smoke: LengthTable
    standard: LengthTable
    full: LengthTable

    @property
    def lengths(self) -> dict[Profile, Length]:
        return {"smoke": self.smoke.length, "standard": self.standard.length, "full": self.full.length}


class IcountTable(Table, frozen=True, kw_only=True):
    """How a benchmark behaves if instructions are counted."""

    assume: Assume
    repeatability: Difference = 0.0
    """Relative difference of equal kernels."""

    @property
    def traits(self) -> IcountTraits:
        return IcountTraits(assume=self.assume, repeatability=self.repeatability)


Nodes = Annotated[int, Meta(ge=1, le=16)]


class GuestTable(Table, frozen=True, kw_only=True):
    """The guests that cases run in, in all combinations. The run chooses what is left out."""

    cpus: CpuCount | list[CpuCount] | None = None
    possible_cpus: CpuCount | list[CpuCount] | None = None
    numa_nodes: Nodes | list[Nodes] | None = None
    concurrent: bool = False
    """See `GuestNeeds`."""

    @property
    def guests(self) -> Iterator[GuestNeeds]:
        chosen = (self.cpus, self.possible_cpus, self.numa_nodes)
        for cpus, possible, nodes in itertools.product(
            *(each if isinstance(each, list) else [each] for each in chosen)
        ):
            yield GuestNeeds(cpus=cpus, possible_cpus=possible, numa_nodes=nodes, concurrent=self.concurrent)


class SweepTable(Table, frozen=True, kw_only=True):
    """Cases of a benchmark: all combinations of the parameters' values and of guests."""

    params: dict[str, Choice | list[Choice]] = {}
    args: list[Word] = []
    """Added after the benchmark's arguments."""
    profiles: list[Profile]
    memory_mib: MemoryMib = 1024
    min_cpus: CpuCount | None = None
    guest: GuestTable = GuestTable()

    def combinations(self) -> Iterator[Params]:
        """The parameters of each case, the last one changing fastest. False parameters are omitted."""
        values = [value if isinstance(value, list) else [value] for value in self.params.values()]
        for chosen in itertools.product(*values):
            pairs = zip(self.params, chosen, strict=True)
            yield tuple((param, value) for param, value in pairs if value is not False)


class BenchmarkTable(Table, frozen=True, kw_only=True):
    """A benchmark."""

    name: str
    formerly: list[str] = []
    kind: str
    about: str
    since: Release
    since_uncertain: bool = False
    until: Release | None = None
    until_reason: str = ""
    deadline: Seconds
    """Seconds."""
    primary: str | None = None
    args: list[Word] = []
    """Arguments of all its cases."""
    min_cpus: CpuCount = 1
    """For all its cases, unless a sweep sets its own."""
    icount: IcountTable
    empty_loop: str = ""
    loop_of: str = ""
    operation: str = ""
    timed_in_part: bool = False
    sweep: list[SweepTable]

    @property
    def benchmark(self) -> Benchmark:
        return Benchmark(
            name=self.name,
            formerly=tuple(self.formerly),
            kind=self.kind,
            about=self.about,
            since=_release(self.since),
            since_uncertain=self.since_uncertain,
            until=None if self.until is None else _release(self.until),
            until_reason=self.until_reason,
            deadline=self.deadline,
            primary=self.primary,
            icount=self.icount.traits,
            cases=tuple(case for sweep in self.sweep for case in self._cases(sweep)),
            empty_loop=self.empty_loop,
            loop_of=self.loop_of,
            operation=self.operation,
            timed_in_part=self.timed_in_part,
        )

    def _cases(self, sweep: SweepTable) -> Iterator[CaseSpec]:
        fixed = tuple(str(word) for word in (*self.args, *sweep.args))
        profiles = tuple(sweep.profiles)
        min_cpus = self.min_cpus if sweep.min_cpus is None else sweep.min_cpus
        for params, guest in itertools.product(sweep.combinations(), sweep.guest.guests):
            yield CaseSpec(
                params=(*params_of_key(params), *guest.params),
                argv=(
                    *fixed,
                    *(word for param, value in params for word in option(param, value, _SHORT)),
                    self.loop_of or self.name,
                ),
                profiles=profiles,
                memory_mib=sweep.memory_mib,
                min_cpus=min_cpus,
                guest=guest,
            )


class SuiteFile(Table, frozen=True, kw_only=True):
    """A suite.toml. The suite has the name of its folder."""

    title: str
    about: str
    config: list[ConfigLine] = []
    touches: list[str] = []
    profiles: ProfilesTable
    benchmark: list[BenchmarkTable]

    def suite(self, file: Path) -> Suite:
        """The suite. The document must be free of faults."""
        return Suite(
            name=file.parent.name,
            title=self.title,
            about=self.about,
            config=tuple(self.config),
            touches=tuple(self.touches),
            metrics={
                name: MetricSpec(unit=shape.unit, better=shape.better)
                for benchmark in self.benchmark
                for name, shape in KIND_METRICS.get(benchmark.kind, {}).items()
            },
            lengths=self.profiles.lengths,
            benchmarks=tuple(each.benchmark for each in self.benchmark),
            source_file=file,
        )


def params_of_key(params: Params) -> tuple[tuple[str, str], ...]:
    """Parameters in the form of a case's key."""
    return tuple((param, "yes" if value is True else str(value)) for param, value in params)


def option(param: str, value: Choice, short: Mapping[str, str]) -> tuple[str, ...]:
    """A parameter as an option: `--name value`, or only `--name` if the value is true.

    `short` maps parameters to options with another name.
    """
    named = short.get(param, f"--{param}")
    return (named,) if value is True else (named, str(value))


def _release(text: str) -> KernelRelease:
    major, minor = text.split(".")
    return int(major), int(minor)
