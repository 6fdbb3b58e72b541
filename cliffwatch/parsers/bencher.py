"""Bencher Metric Format: JSON of benchmarks, their measures, and a value with bounds for each.

Source: bencher.dev/docs/reference/bencher-metric-format.
"""

import json
import math
from collections.abc import Mapping

from cliffwatch.parsers.readings import Parsed, Problem, Value, problem_at

_UNITS: Mapping[str, str] = {"latency": "ns", "throughput": "ops/s"}


def parse_bencher(text: str) -> Parsed:
    """Each measure as a value; bounds are readings beside it. Total."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Parsed(values=(), problems=(problem_at(0, text, f"no JSON: {str(error)[:200]}"),))
    if not isinstance(content, dict):
        return Parsed(values=(), problems=(problem_at(0, text, "no object of benchmarks"),))
    values: list[Value] = []
    problems: list[Problem] = []
    for benchmark, measures in content.items():
        if not isinstance(measures, dict):
            problems.append(problem_at(0, str(benchmark), "no object of measures"))
            continue
        for measure, metric in measures.items():
            value = _number(metric.get("value")) if isinstance(metric, dict) else None
            if value is None:
                problems.append(problem_at(0, f"{benchmark}: {measure}", "it has no finite value"))
                continue
            bounds = [_number(metric.get(name)) for name in ("lower_value", "upper_value")]
            values.append(
                Value(
                    suite="bencher",
                    benchmark=str(benchmark),
                    metric=str(measure),
                    unit=_UNITS.get(str(measure), str(measure)),
                    value=value,
                    samples=tuple(bound for bound in bounds if bound is not None),
                )
            )
    return Parsed(values=tuple(values), problems=tuple(problems))


def _number(content: object) -> float | None:
    if isinstance(content, bool) or not isinstance(content, (int, float)):
        return None
    try:
        value = float(content)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None
