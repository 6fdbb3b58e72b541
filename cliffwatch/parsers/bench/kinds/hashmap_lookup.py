"""Lookups in a hash map, one line per CPU."""

from cliffwatch.parsers.bench.averages import STEP, mean_over_cpus
from cliffwatch.parsers.bench.kind import Kind, LineForm, MetricShape
from cliffwatch.parsers.bench.patterns import NUMBER, PLUS_MINUS, name_groups

KIND = Kind(
    name="hashmap-lookup",
    metrics={"lookups": MetricShape("M ops/s", "higher", primary=True)},
    forms=(
        LineForm(
            "final",
            name_groups(
                rf"cpu(?P<cpu>\d+):\s*lookup\s+{NUMBER}M{PLUS_MINUS}M events/sec"
                r"\s*\(approximated from (\d+) samples of ~(\d+)ms\)",
                *("lookups", "_", "_", "_"),
            ),
        ),
    ),
    values=mean_over_cpus("lookups", "lookups", STEP),
)
