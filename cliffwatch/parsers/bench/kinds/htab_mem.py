"""Hash map operations per second and producer, and the memory of the map."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import mean_of
from cliffwatch.parsers.bench.kind import (
    BenchOutput,
    Kind,
    LineForm,
    MetricShape,
    MetricValue,
    MetricValues,
    Reading,
)
from cliffwatch.parsers.bench.patterns import ITER, NUMBER, PLUS_MINUS, name_groups


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    yield from mean_of(output, kept, "per-producer-ops", "ops", step=0.01)
    yield from mean_of(output, kept, "memory", "memory", step=0.01)
    if "peak" in output.summary:
        yield MetricValue(metric="peak-memory", value=output.summary["peak"], resolution=0.01)


KIND = Kind(
    name="htab-mem",
    metrics={
        "per-producer-ops": MetricShape("k ops/s", "higher", primary=True),
        "memory": MetricShape("MiB", "lower"),
        "peak-memory": MetricShape("MiB", "lower"),
    },
    forms=(
        LineForm(
            "iter",
            name_groups(
                rf"{ITER}per-prod-op\s+{NUMBER}\s*k/s,\s*memory usage\s+{NUMBER}\s*MiB", "ops", "memory"
            ),
        ),
        LineForm(
            "summary",
            name_groups(
                rf"Summary:\s*per-prod-op\s+{NUMBER}{PLUS_MINUS}k/s,\s*memory usage"
                rf"\s+{NUMBER}{PLUS_MINUS}MiB,"
                rf"\s*peak memory usage\s+{NUMBER}\s*MiB",
                *("ops", "_", "memory", "_", "peak"),
            ),
        ),
    ),
    values=_values,
    rate="ops",
    level="memory",
)
