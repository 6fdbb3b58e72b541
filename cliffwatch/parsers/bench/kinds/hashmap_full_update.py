"""Updates of a full hash map, one line per CPU."""

from cliffwatch.parsers.bench.averages import mean_over_cpus
from cliffwatch.parsers.bench.kind import Kind, LineForm, MetricShape
from cliffwatch.parsers.bench.patterns import name_groups

KIND = Kind(
    name="hashmap-full-update",
    metrics={"updates": MetricShape("ops/s", "higher", primary=True)},
    forms=(
        LineForm("final", name_groups(r"(?P<cpu>\d+):hash_map_full_perf (-?\d+) events per sec", "updates")),
    ),
    values=mean_over_cpus("updates", "updates", 1.0),
)
