"""Updates of a full hash map, one line per CPU."""

from cliffwatch.parsers.bench.kind import Kind, LineForm, MetricShape

KIND = Kind(
    name="hashmap-full-update",
    metrics={"updates": MetricShape("ops/s", "higher", primary=True, field="updates", step=1.0)},
    forms=(LineForm("final", r"{cpu:\d+}:hash_map_full_perf {updates} events per sec"),),
)
