"""Lookups in a hash map, one line per CPU."""

from cliffwatch.parsers.bench.kind import Kind, LineForm, MetricShape

KIND = Kind(
    name="hashmap-lookup",
    metrics={"lookups": MetricShape("M ops/s", "higher", primary=True, field="lookups")},
    forms=(
        LineForm(
            "final",
            r"cpu{cpu:\d+}: lookup {lookups}M ± {} M events/sec (approximated from {} samples of ~{}ms)",
        ),
    ),
)
