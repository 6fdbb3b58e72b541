"""Hits and drops per second: counters, triggers, uprobes, renames, ring buffers, bloom filters."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import mean_of
from cliffwatch.parsers.bench.kind import BenchOutput, Kind, LineForm, MetricShape, MetricValues, Reading
from cliffwatch.parsers.bench.patterns import ITER, NUMBER, PLUS_MINUS, name_groups


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    yield from mean_of(output, kept, "hits", "hits")
    yield from mean_of(output, kept, "hits-per-producer", "per_prod")
    yield from mean_of(output, kept, "drops", "drops")
    yield from mean_of(output, kept, "total", "total")


KIND = Kind(
    name="hits-drops",
    metrics={
        "hits": MetricShape("M ops/s", "higher", primary=True),
        "hits-per-producer": MetricShape("M ops/s", "higher"),
        "drops": MetricShape("M ops/s", "lower"),
        "total": MetricShape("M ops/s", "higher"),
    },
    forms=(
        LineForm(
            "iter",
            name_groups(
                rf"{ITER}hits\s+{NUMBER}\s*M/s\s*\(\s*{NUMBER}\s*M/prod\),\s*drops\s+{NUMBER}\s*M/s"
                rf"(?:,\s*total operations\s+{NUMBER}\s*M/s)?",
                *("hits", "per_prod", "drops", "total"),
            ),
        ),
        LineForm(
            "summary",
            name_groups(
                rf"Summary:\s*hits\s+{NUMBER}{PLUS_MINUS}M/s\s*\(\s*{NUMBER}\s*M/prod\),\s*drops"
                rf"\s+{NUMBER}{PLUS_MINUS}M/s"
                rf"(?:,\s*total operations\s+{NUMBER}{PLUS_MINUS}M/s)?",
                *("hits", "_", "per_prod", "drops", "_", "total", "_"),
            ),
        ),
    ),
    values=_values,
    # hashmap-without-bloom counts all its operations as drops.
    dropped="drops",
    rate="hits",
)
