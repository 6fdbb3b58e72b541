"""Medians of the in-kernel timing library, one result per scenario."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.kind import (
    BenchOutput,
    Kind,
    LineForm,
    MetricShape,
    MetricValue,
    MetricValues,
    Reading,
)
from cliffwatch.parsers.bench.patterns import NUMBER, name_groups


def _values(output: BenchOutput, _: Sequence[Reading]) -> MetricValues:
    # With --machine-readable each scenario is printed twice; the later line wins.
    by_scenario = {texts.get("scenario", ""): fields for texts, fields in output.finals}
    if len(by_scenario) > 1:
        by_scenario.pop("", None)
    for scenario, fields in by_scenario.items():
        params = {"scenario": scenario} if scenario else {}
        yield MetricValue(metric="latency", value=fields["latency"], resolution=0.01, params=params)
        yield MetricValue(metric="latency-p99", value=fields["p99"], resolution=0.01, params=params)


KIND = Kind(
    name="timing",
    metrics={
        "latency": MetricShape("ns/op", "lower", primary=True),
        "latency-p99": MetricShape("ns/op", "lower"),
    },
    forms=(
        LineForm(
            "final",
            name_groups(
                rf"(?P<name>[\w.-]+):\s*median {NUMBER} ns/op,\s*stddev {NUMBER},\s*p99 {NUMBER}"
                rf"\s*\((\d+) samples\)",
                *("latency", "_", "p99", "count"),
            ),
        ),
        LineForm(
            "final",
            name_groups(
                rf"RESULT scenario=(?P<scenario>[\w.-]+) samples=(\d+) median={NUMBER} stddev={NUMBER}"
                rf" cv={NUMBER} min={NUMBER} p99={NUMBER} max={NUMBER}",
                *("count", "latency", "_", "_", "_", "p99", "_"),
            ),
        ),
        LineForm("doubt", r"WARNING: (?P<doubt>proportionality check failed.*)$"),
        LineForm("failure", r"(?P<failure>No timing samples collected\.)\s*$"),
    ),
    values=_values,
)
