"""Parses hyperfine's JSON (`--export-json`): each timed run of a command is a sample.

Source: sharkdp/hyperfine, src/benchmark/benchmark_result.rs.
"""

import math
from collections.abc import Iterator, Mapping

from cliffwatch.parsers.cleaning import clean_name
from cliffwatch.parsers.readings import Found, Lost, Parsed, Problem, problem_at
from cliffwatch.samples import CaseKey, Sample

_SUITE = "hyperfine"
_LISTS = {"times": ("time", "s", 1.0), "memory_usage_byte": ("memory", "bytes", 1.0)}


def looks_like_hyperfine(content: Mapping[str, object]) -> bool:
    results = content.get("results")
    listed = results if isinstance(results, list) else []
    return any(isinstance(each, dict) and "command" in each and "mean" in each for each in listed)


def parse_hyperfine(content: Mapping[str, object]) -> Parsed:
    """Parses the runs of each command.

    Failed runs are problems, and their times are left out. Never raises.
    """
    found: list[Found] = []
    problems: list[Problem] = []
    listed = content["results"]
    for result in listed if isinstance(listed, list) else ():
        if isinstance(result, dict) and "command" in result:
            found += [Found(sample) for sample in _samples(result, problems)]
    return Parsed(found=tuple(found), problems=tuple(problems))


def _samples(result: Mapping[str, object], problems: list[Problem]) -> Iterator[Sample]:
    given = result.get("parameters")
    params = (
        {clean_name(str(name)): clean_name(str(text)) for name, text in given.items()}
        if isinstance(given, dict)
        else {}
    )
    command = clean_name(str(result["command"]))
    case = CaseKey(_SUITE, command, tuple(params.items()))
    codes = result.get("exit_codes")
    failed = {place for place, code in enumerate(codes) if code != 0} if isinstance(codes, list) else set()
    if failed:
        why = f"{len(failed)} of its runs ended with an error"
        problems.append(problem_at(0, command, f"failed: {why}", Lost(case, why=why)))
    times = result.get("times")
    if not isinstance(times, list) or not times:
        yield from _of_mean(case, result, problems)
        return
    for key, (metric, unit, factor) in _LISTS.items():
        values = result.get(key)
        for place, content in enumerate(values if isinstance(values, list) else ()):
            value = _finite(content)
            if value is None:
                reason = f"{metric} of run {place + 1} is not a finite number"
                problems.append(problem_at(0, command, reason, Lost(case, metric=metric)))
            elif place not in failed:
                yield Sample(case=case, metric=metric, unit=unit, value=value * factor)


def _of_mean(case: CaseKey, result: Mapping[str, object], problems: list[Problem]) -> Iterator[Sample]:
    value = _finite(result.get("median", result.get("mean")))
    if value is None:
        why = "it has neither times nor a mean"
        problems.append(problem_at(0, case.benchmark, f"failed: {why}", Lost(case, why=why)))
        return
    problems.append(problem_at(0, case.benchmark, "it has no times of single runs: one value per command"))
    yield Sample(case=case, metric="time", unit="s", value=value)


def _finite(content: object) -> float | None:
    if isinstance(content, bool) or not isinstance(content, int | float):
        return None
    try:
        value = float(content)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None
