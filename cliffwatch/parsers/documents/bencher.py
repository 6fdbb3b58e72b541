"""Parses the Bencher Metric Format: JSON with a value and bounds for each measure of each benchmark.

Source: bencher.dev/docs/reference/bencher-metric-format.
"""

import json
import math
import re
from collections.abc import Mapping
from urllib.parse import unquote

from cliffwatch.parsers.cleaning import clean_name
from cliffwatch.parsers.readings import Found, Lost, Parsed, Problem, problem_at
from cliffwatch.samples import CaseKey, Sample

OURS = "BPF/suite="
"""Prefix of the benchmark names that `bencher_writing` writes."""

_MEASURE = re.compile(r"(?P<metric>.+) \((?P<unit>[^()]+)\)")
_UNITS: Mapping[str, str] = {"latency": "ns", "throughput": "ops/s"}


def parse_bencher(text: str) -> Parsed:
    """Parses each measure as a sample, with its bounds as readings. Never raises."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Parsed(found=(), problems=(problem_at(0, text, f"not JSON: {str(error)[:200]}"),))
    if not isinstance(content, dict):
        return Parsed(found=(), problems=(problem_at(0, text, "not an object of benchmarks"),))
    found: list[Found] = []
    problems: list[Problem] = []
    for benchmark, measures in content.items():
        if not isinstance(measures, dict):
            problems.append(problem_at(0, str(benchmark), "not an object of measures"))
            continue
        for measure, metric in measures.items():
            value = _number(metric.get("value")) if isinstance(metric, dict) else None
            if value is None:
                lost = _sample(str(benchmark), str(measure), 0.0, ())
                where, reason = f"{benchmark}: {measure}", "it has no finite value"
                problems.append(problem_at(0, where, reason, Lost(lost.case, metric=lost.metric)))
                continue
            bounds = [_number(metric.get(name)) for name in ("lower_value", "upper_value")]
            known = tuple(bound for bound in bounds if bound is not None)
            found.append(Found(_sample(str(benchmark), str(measure), value, known)))
    return Parsed(found=tuple(found), problems=tuple(problems))


def _sample(benchmark: str, measure: str, value: float, bounds: tuple[float, ...]) -> Sample:
    """Creates the sample of a measure.

    Documents that Cliffwatch wrote have case and unit in their names. Their bounds are dropped: they come
    from other boots, so they are not readings.
    """
    ours = _MEASURE.fullmatch(measure) if benchmark.startswith(OURS) else None
    suite, *parts = benchmark.removeprefix(OURS).split("/")
    if ours is None or not parts or not parts[0].startswith("bench="):
        unit = clean_name(_UNITS.get(measure, measure))
        return Sample(
            case=CaseKey("bencher", clean_name(benchmark)),
            metric=clean_name(measure),
            unit=unit,
            value=value,
            readings=bounds,
        )
    pairs = (part.partition("=") for part in parts[1:])
    params = {unquote(name): unquote(text) for name, _, text in pairs}
    case = CaseKey(unquote(suite), unquote(parts[0].removeprefix("bench=")), tuple(params.items()))
    return Sample(case=case, metric=ours["metric"], unit=ours["unit"], value=value)


def _number(content: object) -> float | None:
    if isinstance(content, bool) or not isinstance(content, (int, float)):
        return None
    try:
        value = float(content)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None
