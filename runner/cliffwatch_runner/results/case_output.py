"""Parses the output of a case.

bench is parsed by the kinds of its lines, a suite's own program as its suite declares.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cliffwatch.catalogue.suite import PlannedCase, Program
from cliffwatch.parsers.bench.parse import parse_bench
from cliffwatch.parsers.go.names import unit_of
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.readings import Found, Parsed, Problem, problem_at
from cliffwatch.samples import Sample

UNSUPPORTED = 4
"""Exit status of a suite's program if this kernel or guest cannot run the case.

The kernel's selftests use it, too (KSFT_SKIP).
"""

_MOST_PROBLEMS = 100
"""Limit per program output, which may contain any other lines."""

_MOST_READINGS = 10_000
_MOST_UNDECLARED = 100
_LONGEST_UNIT = 100
"""Limits for undeclared metrics: a record holds no more (cliffwatch.formats.values)."""


def parse_case(case: PlannedCase, stdout: str, stderr: str) -> Parsed:
    """Parses the output of one case into samples and problems.

    If all lines of a suite's own program have the same name, they belong to the case. Otherwise only the
    lines named after the case's benchmark do. Several lines of one name are readings; the sample is their
    median.
    """
    if case.program is None:
        return _of_bench(case, stdout, stderr, case.warmup)
    parsed = (
        parse_go_bench(stdout) if case.program.output == "go-bench" else _of_bench(case, stdout, stderr, None)
    )
    problems = list(parsed.problems[:_MOST_PROBLEMS])
    samples = _as_declared(case, _summarise(_of_case(case, case.program, parsed.samples, problems)))
    problems += _undeclared(case, case.program, samples)
    doubted = any(each.doubted for each in parsed.found)
    found = tuple(Found(sample, doubted=doubted) for sample in samples)
    return replace(parsed, found=found, problems=tuple(problems))


def _of_bench(case: PlannedCase, stdout: str, stderr: str, warmup: int | None) -> Parsed:
    return parse_bench(
        stdout,
        stderr=stderr,
        warmup=warmup,
        suite=case.key.suite,
        benchmark=case.key.benchmark,
        params=dict(case.key.params),
    )


def program_failure(status: int, case: PlannedCase, parsed: Parsed, said: tuple[str, str]) -> str | None:
    """Returns why the output of a suite's own program cannot be used; None if it can.

    `said` is its standard output and standard error.
    """
    assert case.program is not None
    name, last = case.program.run, _last_of(said)
    if status != 0:
        return f"{name} ended with status {status}" + (f": {last}" if last else " and printed nothing")
    whole = next((problem.reason for problem in parsed.problems if problem.line == 0), None)
    if parsed.found:
        printed = {(sample.metric, sample.unit) for sample in parsed.samples}
        return None if any((metric, spec.unit) in printed for metric, spec in case.metrics.items()) else whole
    if not last:
        return f"{name} printed nothing"
    form = (
        "line of the Go benchmark format"
        if case.program.output == "go-bench"
        else "line that bench is known to print"
    )
    return whole or f"{name} printed no {form}; its last line: {last}"


def unsupported_reason(status: int, case: PlannedCase, said: tuple[str, str]) -> str | None:
    """Returns why the program says that the case cannot be measured here; None if it does not say so."""
    if case.program is None or status != UNSUPPORTED:
        return None
    return _last_of(said) or f"{case.program.run} reports that it cannot be measured here, without a reason"


def _last_of(said: tuple[str, str]) -> str:
    """Returns the last line of standard error or, if that is empty, of standard output."""
    return next((line for text in reversed(said) if (line := last_line(text))), "")


def last_line(text: str) -> str:
    """Returns the last line with content. Go always ends with PASS or FAIL, which says nothing."""
    lines = [line.strip() for line in text.splitlines() if line.strip() not in ("", "PASS", "FAIL")]
    return lines[-1][:300] if lines else ""


def _of_case(
    case: PlannedCase, program: Program, samples: Sequence[Sample], problems: list[Problem]
) -> Sequence[Sample]:
    """Returns the samples from lines that belong to the case."""
    names = dict.fromkeys(map(_line_name, samples))
    if len(names) <= 1:
        return samples
    wanted = _names_of(case)
    others = [name for name in names if name not in wanted]
    if len(others) < len(names):
        return [sample for sample in samples if _line_name(sample) in wanted]
    shown = ", ".join(others[:10])
    reason = (
        f"{program.run} printed lines named {shown}, but none named '{case.key.benchmark}':"
        " select one of them with `args`, or give the benchmark the name of its line"
    )
    problems.insert(0, problem_at(0, "", reason))
    return ()


def _line_name(sample: Sample) -> str:
    """Returns a line's name as printed, without the number of processors."""
    params = [f"/{name}={text}" for name, text in sample.case.params if name != "procs"]
    return sample.case.benchmark + "".join(params)


def _names_of(case: PlannedCase) -> frozenset[str]:
    """Returns the names that a line of the case may have.

    The benchmark, with or without Go's prefix, alone or with the case's parameters.
    """
    bare = case.key.benchmark.removeprefix("Benchmark")
    params = "".join(f"/{name}={text}" for name, text in case.key.params)
    return frozenset({bare, case.key.benchmark, bare + params, case.key.benchmark + params})


def _summarise(samples: Sequence[Sample]) -> Iterator[Sample]:
    """Yields one sample per metric: the median of several lines, with their values as readings."""
    rows: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        rows.setdefault((sample.metric, sample.unit), []).append(sample)
    for of_metric in rows.values():
        if len(of_metric) == 1:
            yield of_metric[0]
            continue
        values = [sample.value for sample in of_metric]
        resolution = max(sample.resolution for sample in of_metric)
        yield of_metric[0]._replace(
            value=statistics.median(values), readings=tuple(values[:_MOST_READINGS]), resolution=resolution
        )


def _as_declared(case: PlannedCase, samples: Iterator[Sample]) -> list[Sample]:
    """Renames the samples to the metrics that the suite declares.

    Others keep their name, if a record can hold them.
    """
    known = _declared_as(case)
    declared, others = [], []
    for sample in samples:
        name = known.get(unit_of(sample.metric, sample.unit))
        if name is not None:
            declared.append(sample._replace(metric=name, unit=case.metrics[name].unit))
        elif len(sample.metric) <= _LONGEST_UNIT and sample.metric.isprintable():
            others.append(sample)
    return [*declared, *others[:_MOST_UNDECLARED]]


def _declared_as(case: PlannedCase) -> Mapping[str, str]:
    """Maps what is printed to declared metrics: `METRIC-UNIT`, or just the unit if it is unique.

    A unit alone counts only in the Go benchmark format.
    """
    known = {unit_of(name, spec.unit): name for name, spec in case.metrics.items()}
    if case.program is None or case.program.output != "go-bench":
        return known
    units = [spec.unit.replace(" ", "") for spec in case.metrics.values()]
    alone = {unit: name for name, unit in zip(case.metrics, units, strict=True) if units.count(unit) == 1}
    return {**alone, **known}


def _undeclared(case: PlannedCase, program: Program, samples: Sequence[Sample]) -> Iterator[Problem]:
    """Yields a problem for each required metric that the output lacks, listing the metrics that it has."""
    printed = {(sample.metric, sample.unit) for sample in samples}
    shown = ", ".join(dict.fromkeys(unit_of(sample.metric, sample.unit) for sample in samples))
    for name, spec in case.metrics.items() if samples else ():
        if (name, spec.unit) not in printed and not spec.optional:
            missing = f"{_shown(name, spec.unit)}, which its suite declares"
            yield problem_at(0, "", f"{program.run} printed no {missing}; it printed {shown}")


def _shown(name: str, unit: str) -> str:
    return f"'{unit}'" if name == unit else f"'{name}' in '{unit}'"
