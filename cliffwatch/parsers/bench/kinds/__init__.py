"""The kinds of output that the kernel's `bench` prints, and the metrics of each.

Source: report_progress and report_final functions of tools/testing/selftests/bpf/bench.c and benchs/*.c, linux 6.12 and
newer. Parsing goes by kind, so that a benchmark nobody has heard of is read as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from cliffwatch.samples import Better


@dataclass(frozen=True, slots=True)
class MetricShape:
    """A metric of a kind. `primary` metrics decide the verdict of a case; the others follow from them or explain them."""

    unit: str
    better: Better
    primary: bool = False


KIND_METRICS: Mapping[str, Mapping[str, MetricShape]] = {
    "hits-drops": {
        "hits": MetricShape("M ops/s", "higher", primary=True),
        "hits-per-producer": MetricShape("M ops/s", "higher"),
        "drops": MetricShape("M ops/s", "lower"),
        "total": MetricShape("M ops/s", "higher"),
    },
    "false-hits": {"false-positive-rate": MetricShape("%", "lower", primary=True)},
    "ops": {
        "throughput": MetricShape("M ops/s", "higher"),
        "throughput-per-producer": MetricShape("M ops/s", "higher"),
        "latency": MetricShape("ns/op", "lower", primary=True),
    },
    "local-storage": {
        "hits-throughput": MetricShape("M ops/s", "higher"),
        "hits-latency": MetricShape("ns/op", "lower", primary=True),
        "important-hits-throughput": MetricShape("M ops/s", "higher"),
    },
    "local-storage-create": {
        "creates": MetricShape("k ops/s", "higher", primary=True),
        "creates-per-producer": MetricShape("k ops/s", "higher"),
        "kmallocs": MetricShape("kmallocs/create", "lower"),
    },
    "htab-mem": {
        "per-producer-ops": MetricShape("k ops/s", "higher", primary=True),
        "memory": MetricShape("MiB", "lower"),
        "peak-memory": MetricShape("MiB", "lower"),
    },
    "tasks-trace": {
        "grace-period-latency": MetricShape("us", "lower", primary=True),
        "ticks": MetricShape("ticks", "lower"),
    },
    "hashmap-lookup": {"lookups": MetricShape("M ops/s", "higher", primary=True)},
    "hashmap-full-update": {"updates": MetricShape("ops/s", "higher", primary=True)},
    "sockmap": {
        "send-speed": MetricShape("MB/s", "higher"),
        "bpf-speed": MetricShape("MB/s", "higher"),
        "receive-speed": MetricShape("MB/s", "higher", primary=True),
    },
    "timing": {
        "latency": MetricShape("ns/op", "lower", primary=True),
        "latency-p99": MetricShape("ns/op", "lower"),
    },
}
