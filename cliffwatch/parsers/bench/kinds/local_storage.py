"""Gets of task local storage: all gets, and the gets of the map of interest."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import mean_of, rate_and_latency
from cliffwatch.parsers.bench.kind import BenchOutput, Kind, LineForm, MetricShape, MetricValues, Reading
from cliffwatch.parsers.bench.patterns import ITER, NUMBER, PLUS_MINUS, name_groups


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    rates = [each.fields["hits"] for each in kept]
    yield from rate_and_latency(output, kept, rates, ("hits-throughput", "hits-latency"))
    yield from mean_of(output, kept, "important-hits-throughput", "important")


KIND = Kind(
    name="local-storage",
    metrics={
        "hits-throughput": MetricShape("M ops/s", "higher"),
        "hits-latency": MetricShape("ns/op", "lower", primary=True),
        "important-hits-throughput": MetricShape("M ops/s", "higher"),
    },
    forms=(
        LineForm(
            "iter",
            name_groups(
                rf"{ITER}hits\s+{NUMBER}\s*M/s\s+important_hits\s+{NUMBER}\s*M/s", "hits", "important"
            ),
        ),
        LineForm(
            "summary",
            name_groups(
                rf"Summary:\s*hits throughput\s+{NUMBER}{PLUS_MINUS}M ops/s,\s*hits latency\s+{NUMBER}"
                rf"\s*ns/op,"
                rf"\s*important_hits throughput\s+{NUMBER}{PLUS_MINUS}M ops/s",
                *("hits", "_", "latency", "important", "_"),
            ),
        ),
    ),
    values=_values,
    rate="hits",
)
