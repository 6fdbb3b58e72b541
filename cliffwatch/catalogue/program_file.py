"""The form of a suite.toml with a `[program]`, and its conversion to a suite.

docs/suites.md, "Your own suite".
"""

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, field

from cliffwatch.catalogue.suite import Benchmark, CaseSpec, MetricSpec, OutputForm, Program, Suite
from cliffwatch.catalogue.suite_file import (
    ConfigLine,
    CpuCount,
    Difference,
    IcountTable,
    LengthTable,
    Params,
    ProfilesTable,
    Seconds,
    SweepTable,
    Table,
    Word,
    option,
    params_of_key,
)
from cliffwatch.samples import PROFILES, Assume, Better

FileName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(?![\s\S])",
        description="it must be the name of a file, without folders and blanks",
    ),
]
BenchmarkName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:+=-]{0,99}(?![\s\S])",
        description="a benchmark's name is made of letters, digits and . _ : + = -",
    ),
]
Unit = Annotated[
    str,
    Meta(
        pattern=r"^[!-~µ]+( [!-~µ]+)*(?![\s\S])",
        max_length=100,
        description="it must be a unit, such as ns/op",
    ),
]

_PROFILES = ProfilesTable(
    smoke=LengthTable(warmup=1, duration=1),
    standard=LengthTable(warmup=1, duration=2),
    full=LengthTable(warmup=1, duration=5),
)
_NOISY = IcountTable(assume="nothing")
_ONE_CASE = SweepTable(profiles=[*PROFILES])


class ProgramTable(Table, frozen=True, kw_only=True):
    """The program of a suite that does not run the kernel's bench."""

    build: str = ""
    """Command line that builds it; empty if the folder contains it."""
    run: FileName
    """File of the program."""
    files: list[FileName] = field(default_factory=list)
    """Further files that the program needs beside it."""
    output: OutputForm
    """Form of the lines that it prints."""
    reads_data: bool = False
    """True if it reads the file of --data."""
    objects: str | None = None
    """Parameter that names BPF objects of the tree's selftests; None if it uses none."""

    @property
    def program(self) -> Program:
        return Program(
            build=self.build.strip(),
            run=self.run,
            files=tuple(self.files),
            output=self.output,
            reads_data=self.reads_data,
            objects=self.objects,
        )


class DeclaredMetricTable(Table, frozen=True, kw_only=True):
    """A metric that the program prints."""

    unit: Unit
    better: Better
    primary: bool | Literal["icount"] = False
    """True if it decides, "icount" if only under icount. If no metric is primary, all are."""
    optional: bool = False
    """True if a missing value is not reported."""
    assume: Assume | None = None
    """"exact" if it is counted in every mode; None if the benchmark's own assumption holds.

    "nothing" if its values do not repeat even when instructions are counted.
    """
    repeatability: Difference | None = None
    """Largest difference between equal kernels under icount, a fraction; None for that of the benchmark."""


class ProgramBenchmarkTable(Table, frozen=True, kw_only=True):
    """A benchmark of the program. Without a sweep it has one case."""

    name: BenchmarkName
    about: str = ""
    deadline: Seconds = 60
    """Seconds."""
    args: list[Word] = field(default_factory=list)
    """Arguments of all its cases."""
    min_cpus: CpuCount = 1
    """For all its cases, unless a sweep sets its own."""
    icount: IcountTable = _NOISY
    empty_loop: str = ""
    operation: str = ""
    sweep: list[SweepTable] = field(default_factory=list)

    @property
    def sweeps(self) -> list[SweepTable]:
        return self.sweep or [_ONE_CASE]

    @property
    def benchmark(self) -> Benchmark:
        return Benchmark(
            name=self.name,
            kind=None,
            about=self.about,
            since=(0, 0),
            since_uncertain=True,
            until=None,
            until_reason="",
            deadline=self.deadline,
            primary=None,
            icount=self.icount.traits,
            cases=tuple(case for sweep in self.sweeps for case in self._cases(sweep)),
            empty_loop=self.empty_loop,
            operation=self.operation,
        )

    def _cases(self, sweep: SweepTable) -> Iterator[CaseSpec]:
        for params, guest in product(sweep.combinations(), sweep.guest.guests):
            yield CaseSpec(
                params=(*params_of_key(params), *guest.params),
                argv=arguments([str(word) for word in (*self.args, *sweep.args)], params),
                profiles=tuple(sweep.profiles),
                memory_mib=sweep.memory_mib,
                min_cpus=self.min_cpus if sweep.min_cpus is None else sweep.min_cpus,
                guest=guest,
            )


class ProgramSuiteFile(Table, frozen=True, kw_only=True):
    """A suite.toml with a program. The suite has the name of its folder."""

    title: str
    about: str = ""
    config: list[ConfigLine] = field(default_factory=list)
    touches: list[str] = field(default_factory=list)
    profiles: ProfilesTable = _PROFILES
    program: ProgramTable
    metrics: dict[str, DeclaredMetricTable]
    benchmark: list[ProgramBenchmarkTable]

    def suite(self, file: Path) -> Suite:
        """The suite. The document must be free of faults."""
        return Suite(
            name=file.parent.name,
            title=self.title,
            about=self.about,
            config=tuple(self.config),
            touches=tuple(self.touches),
            metrics=self._metrics(),
            lengths=self.profiles.lengths,
            benchmarks=tuple(each.benchmark for each in self.benchmark),
            source_file=file,
            program=self.program.program,
        )

    def _metrics(self) -> Mapping[str, MetricSpec]:
        return {
            name: MetricSpec(
                unit=each.unit,
                better=each.better,
                primary=each.primary,
                optional=each.optional,
                noisy=each.assume == "nothing",
                counted=each.assume == "exact",
                repeatability=each.repeatability,
            )
            for name, each in self.metrics.items()
        }


def arguments(words: list[str], params: Params) -> tuple[str, ...]:
    """The words with parameters in place of `{PARAM}`.

    Parameters that no word names follow as `--PARAM VALUE`.
    """
    values = dict(params_of_key(params))
    named = {name for name in values for word in words if f"{{{name}}}" in word}
    for name in named:
        words = [word.replace(f"{{{name}}}", values[name]) for word in words]
    return (
        *words,
        *(word for param, value in params if param not in named for word in option(param, value, {})),
    )
