"""The catalogue: all suites of a folder."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from cliffwatch.catalogue.folder import suites_folder
from cliffwatch.catalogue.read import read_suite
from cliffwatch.catalogue.repeatability import NOTHING_MEASURED, Repeatability, read_repeatability
from cliffwatch.catalogue.suite import Benchmark, MetricSpec, Suite
from cliffwatch.catalogue.unknown import traits_of_unknown
from cliffwatch.parsers.per_operation import INSTRUCTIONS, as_instructions
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CaseKey, MetricTraits, Mode


@dataclass(frozen=True)
class Catalogue:
    """All suites, with look-ups."""

    suites: tuple[Suite, ...]
    repeatability: Repeatability = NOTHING_MEASURED

    @cached_property
    def _by_benchmark(self) -> Mapping[str, tuple[Suite, Benchmark]]:
        return {benchmark.name: (suite, benchmark) for suite in self.suites for benchmark in suite.benchmarks}

    @cached_property
    def _by_former_name(self) -> Mapping[str, tuple[Suite, Benchmark]]:
        return {former: entry for entry in self._by_benchmark.values() for former in entry[1].formerly}

    def suite_of(self, benchmark: str) -> str | None:
        entry = self._by_benchmark.get(benchmark) or self._by_former_name.get(benchmark)
        return entry[0].name if entry else None

    def other_names(self, suite: str, benchmark: str) -> tuple[str, ...]:
        """Former names of the benchmark, and its present name if `benchmark` is a former one.

        Empty if the suite does not have the benchmark.
        """
        owner, present = (
            self._by_benchmark.get(benchmark) or self._by_former_name.get(benchmark) or (None, None)
        )
        if owner is None or present is None or owner.name != suite:
            return ()
        return tuple(sorted({present.name, *owner.other_names(present)} - {benchmark}))

    def renamed(self, suite: str, benchmark: str) -> str | None:
        """The present name of a renamed benchmark of this suite; None if it was not renamed."""
        entry = self._by_former_name.get(benchmark)
        return entry[1].name if entry and entry[0].name == suite else None

    def benchmark(self, name: str) -> Benchmark | None:
        entry = self._by_benchmark.get(name)
        return entry[1] if entry else None

    def traits(self, case: CaseKey, metric: str, unit: str, mode: Mode | None) -> MetricTraits:
        """The traits of a metric. A benchmark outside the catalogue is judged by its unit."""
        known = self._by_benchmark.get(case.benchmark) or self._by_former_name.get(case.benchmark)
        suite, benchmark = known or (None, None)
        shape = None if suite is None or benchmark is None else suite.shapes(benchmark, mode).get(metric)
        if suite is None or benchmark is None or shape is None:
            unknown = traits_of_unknown(metric, unit)
            # What a program prints and its suite does not declare decides nothing.
            return unknown if suite is None or suite.program is None else replace(unknown, primary=False)
        loop = benchmark.empty_loop
        printed = benchmark.primary is None or metric == INSTRUCTIONS
        primary = shape.primary if printed else metric == benchmark.primary
        spec = suite.metrics.get(metric) or _spec_counted(suite, metric)
        if spec is not None and spec.counted:
            return MetricTraits(better=shape.better, assume="exact", primary=primary)
        if mode == "icount" and benchmark.icount.assume == "exact" and not (spec is not None and spec.noisy):
            measured = self.repeatability.of(case, metric)
            if measured is None and spec is not None:
                measured = spec.repeatability
            repeatability = benchmark.icount.repeatability if measured is None else measured
            return MetricTraits(
                better=shape.better,
                assume="exact",
                repeatability=repeatability,
                primary=primary,
                empty_loop=loop,
            )
        return MetricTraits(better=shape.better, assume="nothing", primary=primary, empty_loop=loop)


def _spec_counted(suite: Suite, metric: str) -> MetricSpec | None:
    """The suite's metric whose time is called `metric` under icount; None without one."""
    specs = suite.metrics.items() if suite.program is not None else ()
    return next(
        (spec for name, spec in specs if (as_instructions(name, spec.unit) or ("",))[0] == metric), None
    )


def read_catalogue(folder: Path) -> tuple[Catalogue, tuple[Problem, ...]]:
    """Reads every suite under `folder`, or the suite in `folder` itself.

    Also returns the errors of the others.

    A benchmark may be in one suite only.
    """
    suites: list[Suite] = []
    errors: list[Problem] = []
    own = folder / "suite.toml"
    for file in [own.resolve()] if own.is_file() else sorted(folder.glob("*/suite.toml")):
        suite = read_suite(file)
        if isinstance(suite, Suite):
            suites.append(suite)
        else:
            errors += suite
    if not suites and not errors:
        errors.append(Problem(file=str(folder), reason="there is no */suite.toml in this folder"))
    repeatability, wrong = read_repeatability(folder)
    return Catalogue(tuple(suites), repeatability), (*errors, *_find_duplicates(suites), *wrong)


def _find_duplicates(suites: list[Suite]) -> list[Problem]:
    errors: list[Problem] = []
    home: dict[str, Suite] = {}
    for suite in suites:
        for benchmark in suite.benchmarks:
            first = home.setdefault(benchmark.name, suite)
            if first is not suite and suite.source_file is not None:
                message = (
                    f"'{benchmark.name}' stands in {first.name} already; a benchmark belongs to one suite"
                )
                errors.append(Problem(file=str(suite.source_file), line=1, reason=message))
    return errors


@cache
def load_catalogue() -> Catalogue:
    """The installed catalogue. `make lint` keeps it free of errors."""
    catalogue, errors = read_catalogue(suites_folder())
    if errors:
        raise ValueError("the installed catalogue is damaged: " + "; ".join(map(str, errors)))
    return catalogue
