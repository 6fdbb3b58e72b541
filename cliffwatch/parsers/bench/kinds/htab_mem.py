"""Operations of a hash map a second and producer, and the memory that it takes meanwhile."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import mean_of
from cliffwatch.parsers.bench.kind import Kind, LineForm, MetricShape, MetricValue, MetricValues, Reading, Section
from cliffwatch.parsers.bench.patterns import ITER, NUMBER, PLUS_MINUS, named


def _values(section: Section, kept: Sequence[Reading]) -> MetricValues:
    yield from mean_of(section, kept, "per-producer-ops", "ops", step=0.01)
    yield from mean_of(section, kept, "memory", "memory", step=0.01)
    if "peak" in section.summary:
        yield MetricValue(metric="peak-memory", value=section.summary["peak"], resolution=0.01)


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
            named(rf"{ITER}per-prod-op\s+{NUMBER}\s*k/s,\s*memory usage\s+{NUMBER}\s*MiB", "ops", "memory"),
        ),
        LineForm(
            "summary",
            named(
                rf"Summary:\s*per-prod-op\s+{NUMBER}{PLUS_MINUS}k/s,\s*memory usage\s+{NUMBER}{PLUS_MINUS}MiB,"
                rf"\s*peak memory usage\s+{NUMBER}\s*MiB",
                *("ops", "_", "memory", "_", "peak"),
            ),
        ),
    ),
    values=_values,
    rate="ops",
    level="memory",
)
