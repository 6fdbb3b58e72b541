"""Hits and drops per second: counters, triggers, uprobes, renames, ring buffers, bloom filters.

Commit messages cut the ends of the lines: `hits   62.462M/s ( 62.462M/prod), [...]`.
"""

from cliffwatch.parsers.bench.kind import ITER, Kind, LineForm, MetricShape

KIND = Kind(
    name="hits-drops",
    metrics={
        "hits": MetricShape("M ops/s", "higher", primary=True, field="hits"),
        "hits-per-producer": MetricShape("M ops/s", "higher", field="per_prod"),
        "drops": MetricShape("M ops/s", "lower", field="drops"),
        "total": MetricShape("M ops/s", "higher", field="total"),
    },
    forms=(
        LineForm(
            "iter",
            ITER + "hits {hits} M/s ( {per_prod} M/prod), drops {drops} M/s[, total operations {total} M/s]",
        ),
        LineForm("iter", ITER + r"hits {hits} M/s ( {per_prod} M/prod), {:\x5b\.\.\.\x5d}"),
        LineForm(
            "summary",
            "Summary: hits {hits} ± {} M/s ( {per_prod} M/prod)[, drops {drops} ± {} M/s"
            "[, total operations {total} ± {} M/s]]",
        ),
    ),
    # hashmap-without-bloom counts all its operations as drops.
    dropped="drops",
    rate="hits",
)
