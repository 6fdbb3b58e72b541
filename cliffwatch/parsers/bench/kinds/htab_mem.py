"""Hash map operations per second and producer, and the memory of the map."""

from cliffwatch.parsers.bench.kind import ITER, Kind, LineForm, MetricShape

KIND = Kind(
    name="htab-mem",
    metrics={
        "per-producer-ops": MetricShape("k ops/s", "higher", primary=True, field="ops", step=0.01),
        "memory": MetricShape("MiB", "lower", field="memory", step=0.01),
        "peak-memory": MetricShape("MiB", "lower", field="peak", step=0.01),
    },
    forms=(
        LineForm("iter", ITER + "per-prod-op {ops} k/s, memory usage {memory} MiB"),
        LineForm(
            "summary",
            "Summary: per-prod-op {ops} ± {} k/s, memory usage {memory} ± {} MiB,"
            " peak memory usage {peak} MiB",
        ),
    ),
    rate="ops",
    level="memory",
)
