"""Reads a suite.toml. Returns all errors at once, each with its file and line."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TypeVar

from cliffwatch.catalogue.program_file import ProgramBenchmarkTable, ProgramSuiteFile
from cliffwatch.catalogue.suite import Suite
from cliffwatch.catalogue.suite_file import BenchmarkTable, SuiteFile, SweepTable, params_of_key
from cliffwatch.catalogue.toml_lines import Place, line_of, problem_at_key
from cliffwatch.catalogue.touches import is_pattern
from cliffwatch.formats.reading import convert_to
from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch.parsers.readings import Problem
from cliffwatch.parsers.received.opening import read_regular

_LARGEST_BYTES = 256 << 10
_LINE = re.compile(r"line (\d+)")
F = TypeVar("F", SuiteFile, ProgramSuiteFile)


def read_suite(path: Path) -> Suite | tuple[Problem, ...]:
    """Reads the suite of one file. Its name is that of its folder.

    Returns errors instead if there are any, never an incomplete suite.
    """
    try:
        content = read_regular(path, _LARGEST_BYTES + 1)
    except OSError as error:
        return (Problem(file=str(path), reason=f"cannot be read: {error}"),)
    if len(content) > _LARGEST_BYTES:
        return (Problem(file=str(path), reason=f"is larger than {_LARGEST_BYTES >> 10} KiB"),)
    try:
        text = content.decode()
        table = tomllib.loads(text)
    except RecursionError:
        return (Problem(file=str(path), reason="no TOML that anybody writes: it is nested too deeply"),)
    except (
        ValueError
    ) as error:  # of tomllib, of a text that is no UTF-8, and of a number of thousands of digits
        position = _LINE.search(str(error))
        return (
            Problem(file=str(path), line=int(position[1]) if position else 0, reason=f"no TOML: {error}"),
        )
    read = _document(table, ProgramSuiteFile) if "program" in table else _document(table, SuiteFile)
    document: SuiteFile | ProgramSuiteFile = read[0]
    faults = (*read[1], *_contradictions(document))
    if not faults:
        return document.suite(path)
    errors = (replace(fault, file=str(path), line=line_of(text, fault.member)) for fault in faults)
    return tuple(sorted(errors, key=lambda error: error.line))


def _document(content: object, form: type[F]) -> tuple[F, tuple[Problem, ...]]:
    read = convert_to(content, form)
    if not isinstance(read, Problem):
        return read, ()
    from cliffwatch.catalogue.faults import collect_faults  # noqa: PLC0415 - for files that are wrong

    return collect_faults(content, form, read)


def _contradictions(document: SuiteFile | ProgramSuiteFile) -> Iterator[Problem]:
    """Faults that types cannot express: unknown kinds, and parts of the file that do not fit each other."""
    yield from _of_touches(document.touches)
    yield from _of_loops(document)
    if isinstance(document, ProgramSuiteFile):
        yield from _of_program(document)
        return
    for index, benchmark in enumerate(document.benchmark):
        place = ("benchmark", index)
        yield from _of_kind(benchmark, place)
        yield from _find_duplicate_cases(benchmark.name, benchmark.sweep, place)
    yield from _of_former_names(document.benchmark)


def _of_touches(patterns: Sequence[str]) -> Iterator[Problem]:
    for pattern in patterns:
        if not is_pattern(pattern):
            yield problem_at_key(
                ("touches",),
                f"{pattern!r} is no path in a kernel tree, such as kernel/bpf/ringbuf.c or net/core/skmsg*",
            )
        elif patterns.count(pattern) > 1:
            yield problem_at_key(("touches",), f"{pattern!r} stands here twice")


def _of_program(document: ProgramSuiteFile) -> Iterator[Problem]:
    known: set[str] = set()
    for index, benchmark in enumerate(document.benchmark):
        place = ("benchmark", index)
        yield from _find_duplicate_cases(benchmark.name, benchmark.sweeps, place)
        if benchmark.name in known:
            yield problem_at_key((*place, "name"), f"'{benchmark.name}' stands here twice")
        known.add(benchmark.name)
        words = map(str, (*benchmark.args, *(word for sweep in benchmark.sweeps for word in sweep.args)))
        if any(not word.isprintable() for word in words):
            yield problem_at_key(
                (*place, "args"), "'args' has a line break, a tab or another character that does not print"
            )
        yield from _of_objects(document.program.objects, benchmark.sweeps, place)
    if not document.benchmark:
        yield Problem(reason="'benchmark' is empty: a suite has at least one")
    if not document.metrics:
        yield problem_at_key(
            ("metrics",),
            "a suite with a program says which metrics it prints: at least one, with unit and better",
        )


def _of_former_names(benchmarks: Sequence[BenchmarkTable]) -> Iterator[Problem]:
    """Faults of former names. A former name belongs to one benchmark."""
    known: dict[str, str] = {}
    for index, benchmark in enumerate(benchmarks):
        for name in benchmark.formerly:
            place = ("benchmark", index, "formerly")
            if name == benchmark.name:
                yield problem_at_key(place, f"'formerly' has {name!r}, the name that the benchmark has now")
            elif known.setdefault(name, benchmark.name) != benchmark.name:
                yield problem_at_key(
                    place, f"'formerly' has {name!r}, which was the name of '{known[name]}' already"
                )


def _of_loops(document: SuiteFile | ProgramSuiteFile) -> Iterator[Problem]:
    """Faults of empty loops.

    An empty loop is another benchmark of the suite, prints the same metrics, and has no loop itself.
    """
    benchmarks: Sequence[BenchmarkTable | ProgramBenchmarkTable] = document.benchmark
    known = {each.name: each for each in benchmarks}
    for index, benchmark in enumerate(benchmarks):
        loop, place = known.get(benchmark.empty_loop), ("benchmark", index, "empty_loop")
        if not benchmark.empty_loop:
            continue
        if loop is None or loop is benchmark or loop.empty_loop:
            yield problem_at_key(
                place, f"'empty_loop' is {benchmark.empty_loop!r}; it must be another benchmark of this suite"
            )
        elif (
            isinstance(benchmark, BenchmarkTable)
            and isinstance(loop, BenchmarkTable)
            and benchmark.kind != loop.kind
        ):
            yield problem_at_key(
                place, f"'{loop.name}' is of the kind '{loop.kind}', so that its metrics are others"
            )


def _of_objects(param: str | None, sweeps: Sequence[SweepTable], place: Place) -> Iterator[Problem]:
    """A fault if a sweep of a suite that measures objects does not name them."""
    if param is not None and any(param not in sweep.params for sweep in sweeps):
        yield problem_at_key(
            place, f"a sweep of it has no parameter '{param}', which [program] says names the objects"
        )


def _of_kind(benchmark: BenchmarkTable, place: Place) -> Iterator[Problem]:
    kind, primary = benchmark.kind, benchmark.primary
    if kind and kind not in KIND_METRICS:
        yield problem_at_key(
            (*place, "kind"), f"'kind' is {kind!r}; it must be one of: {', '.join(KIND_METRICS)}"
        )
    if primary is not None and primary not in KIND_METRICS.get(kind, {}):
        yield problem_at_key((*place, "primary"), f"kind '{kind}' prints no metric '{primary}'")


def _find_duplicate_cases(name: str, sweeps: Sequence[SweepTable], place: Place) -> Iterator[Problem]:
    known: set[tuple[tuple[str, str], ...]] = set()
    for params in (
        (*params_of_key(each), *guest.params)
        for sweep in sweeps
        for each, guest in product(sweep.combinations(), sweep.guest.guests)
    ):
        if params in known:
            yield problem_at_key(place, f"'{name}' has the case {dict(params)} twice")
        known.add(params)
