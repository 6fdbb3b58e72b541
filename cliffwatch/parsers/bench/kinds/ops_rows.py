"""Rows that commit messages make of Summaries with throughput and latency, one for each benchmark.

Example: `lookup: throughput    7.423 ± 0.023 M ops/s (  7.423M ops/prod), latency  134.710 ns/op`.
"""

from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import NS_PER
from cliffwatch.parsers.bench.kind import (
    STEP,
    BenchOutput,
    Kind,
    LineForm,
    MetricShape,
    MetricValue,
    MetricValues,
    Reading,
)
from cliffwatch.parsers.bench.kinds.script_rows import ROW_BEGINS, row_of


def _values(output: BenchOutput, _: Sequence[Reading]) -> MetricValues:
    """The latency has more digits than the throughput, which follows from it."""
    fields = output.finals[0][1]
    unit = NS_PER[output.units["time"]]
    latency, step = fields["latency"] * unit, STEP * unit
    if not latency:
        return
    rate = 1000 / latency
    yield MetricValue(metric="throughput", value=rate, resolution=rate * step / latency)
    yield MetricValue(metric="latency", value=latency, resolution=step)


KIND = Kind(
    name="ops-rows",
    metrics={
        "throughput": MetricShape("M ops/s", "higher"),
        "latency": MetricShape("ns/op", "lower", primary=True),
    },
    forms=(
        LineForm(
            "final",
            "throughput {} ± {} {:[MKk]} ops/s ( {} {:[MKk]} ops/prod), latency {latency} {time:ns|us|ms}/op",
            begin=ROW_BEGINS,
        ),
    ),
    values=_values,
    marks=("ops/prod",),
    row_of=row_of,
)
