"""The grace period of RCU Tasks Trace: two lines per iteration and two summary lines."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import means
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


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    # Iter lines print nanoseconds, the Summary microseconds.
    latencies = tuple(each.fields["latency"] / 1000 for each in kept if "latency" in each.fields)
    if latencies or "latency" in output.summary:
        value = sum(latencies) / len(latencies) if latencies else output.summary["latency"]
        yield MetricValue(metric="grace-period-latency", value=value, samples=latencies, resolution=STEP)
    yield from means(KIND.metrics, output, kept)


KIND = Kind(
    name="tasks-trace",
    metrics={
        "grace-period-latency": MetricShape("us", "lower", primary=True),
        "ticks": MetricShape("ticks", "lower", field="ticks"),
    },
    forms=(
        LineForm("iter", r"Iter {iter:\d+} avg tasks_trace grace period latency {latency} ns"),
        LineForm("iter", r"Iter {iter:\d+} avg ticks per tasks_trace grace period {ticks}"),
        LineForm("summary", "SUMMARY tasks_trace grace period latency avg {latency} us stddev {} us"),
        LineForm("summary", "SUMMARY ticks per tasks_trace grace period avg {ticks} stddev {}"),
    ),
    values=_values,
    lines_per_reading=2,
)
