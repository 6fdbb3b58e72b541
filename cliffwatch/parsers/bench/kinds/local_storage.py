"""Gets of task local storage: all gets, and the gets of the map of interest."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import means, rate_and_latency
from cliffwatch.parsers.bench.kind import (
    ITER,
    BenchOutput,
    Kind,
    LineForm,
    MetricShape,
    MetricValues,
    Reading,
)


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    rates = [each.fields["hits"] for each in kept]
    yield from rate_and_latency(output, kept, rates, ("hits-throughput", "hits-latency"))
    yield from means(KIND.metrics, output, kept)


KIND = Kind(
    name="local-storage",
    metrics={
        "hits-throughput": MetricShape("M ops/s", "higher"),
        "hits-latency": MetricShape("ns/op", "lower", primary=True),
        "important-hits-throughput": MetricShape("M ops/s", "higher", field="important"),
    },
    forms=(
        LineForm("iter", ITER + "hits {hits} M/s important_hits {important} M/s"),
        LineForm(
            "summary",
            "Summary: hits throughput {hits} ± {} M ops/s, hits latency {latency} ns/op,"
            " important_hits throughput {important} ± {} M ops/s",
        ),
    ),
    values=_values,
    rate="hits",
)
