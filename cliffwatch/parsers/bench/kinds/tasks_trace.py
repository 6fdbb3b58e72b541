"""The grace period of RCU Tasks Trace: two lines per iteration and two summary lines."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import STEP, mean_of
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


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    # Iter lines print nanoseconds, the Summary microseconds.
    latencies = tuple(each.fields["latency"] / 1000 for each in kept if "latency" in each.fields)
    if latencies or "latency" in output.summary:
        value = sum(latencies) / len(latencies) if latencies else output.summary["latency"]
        yield MetricValue(metric="grace-period-latency", value=value, samples=latencies, resolution=STEP)
    yield from mean_of(output, kept, "ticks", "ticks")


KIND = Kind(
    name="tasks-trace",
    metrics={
        "grace-period-latency": MetricShape("us", "lower", primary=True),
        "ticks": MetricShape("ticks", "lower"),
    },
    forms=(
        LineForm(
            "iter",
            name_groups(
                rf"Iter\s+(?P<iter>\d+)\s+avg tasks_trace grace period latency\s+{NUMBER}\s*ns", "latency"
            ),
        ),
        LineForm(
            "iter",
            name_groups(
                rf"Iter\s+(?P<iter>\d+)\s+avg ticks per tasks_trace grace period\s+{NUMBER}", "ticks"
            ),
        ),
        LineForm(
            "summary",
            name_groups(
                rf"SUMMARY tasks_trace grace period latency\s+avg {NUMBER}\s*us\s+stddev {NUMBER}\s*us",
                "latency",
                "_",
            ),
        ),
        LineForm(
            "summary",
            name_groups(
                rf"SUMMARY ticks per tasks_trace grace period\s+avg {NUMBER}\s+stddev {NUMBER}", "ticks", "_"
            ),
        ),
    ),
    values=_values,
    lines_per_reading=2,
)
