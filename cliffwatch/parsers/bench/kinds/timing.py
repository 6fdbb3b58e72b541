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
        LineForm("final", r"{name:[\w.-]+}: median {latency} ns/op, stddev {}, p99 {p99} ({count} samples)"),
        LineForm(
            "final",
            r"RESULT scenario={scenario:[\w.-]+} samples={count} median={latency} stddev={} cv={} min={}"
            " p99={p99} max={}",
        ),
        LineForm("doubt", r"WARNING: {doubt:proportionality check failed(?:.*\S)?}"),
        LineForm("failure", r"{failure:No timing samples collected\.}"),
    ),
    values=_values,
)
