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


def _values(output: BenchOutput, _: Sequence[Reading]) -> MetricValues:
    # With --machine-readable each scenario is printed twice; the later line wins.
    by_scenario: dict[str, dict[str, float]] = {}
    scenario = ""
    for texts, fields in output.finals:
        scenario = "" if "name" in texts else texts.get("scenario", scenario)
        by_scenario.setdefault(scenario, {}).update(fields)
    measured = {name: fields for name, fields in by_scenario.items() if "latency" in fields}
    if len(measured) > 1:
        measured.pop("", None)
    for name, fields in measured.items():
        params = {"scenario": name} if name else {}
        yield MetricValue(metric="latency", value=fields["latency"], resolution=0.01, params=params)
        if "p99" in fields:
            yield MetricValue(metric="latency-p99", value=fields["p99"], resolution=0.01, params=params)


KIND = Kind(
    name="timing",
    metrics={
        "latency": MetricShape("ns/op", "lower", primary=True),
        "latency-p99": MetricShape("ns/op", "lower"),
    },
    forms=(
        LineForm("final", r"{name:[\w.-]+}: median {latency} ns/op, stddev {}, p99 {p99} ({count} samples)"),
        LineForm(
            "final",
            r"RESULT scenario={scenario:[\w.-]+} samples={count} median={latency} stddev={} cv={} min={}"
            "[ p90={} p95={}] p99={p99} max={}",
        ),
        # As series on the list print it.
        LineForm("final", r"Scenario: {scenario:[\w.-]+}{:(?: - .*+)?}"),
        LineForm("final", r"median {latency} ns/op, stddev {}, CV {}% {:\x5bmin .*+}"),
        LineForm("final", "p50 {}, p75 {}, p90 {}, p95 {}, p99 {p99}"),
        LineForm("doubt", r"WARNING: {doubt:proportionality check failed(?:.*\S)?}"),
        LineForm("failure", r"{failure:No timing samples collected\.}"),
    ),
    values=_values,
)
