"""Throughput of a sockmap: sent, forwarded by BPF, received."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import mean_of
from cliffwatch.parsers.bench.kind import BenchOutput, Kind, LineForm, MetricShape, MetricValues, Reading
from cliffwatch.parsers.bench.patterns import ITER, NUMBER, PLUS_MINUS, name_groups

_SPEED = rf"{NUMBER}\s*MB/s"
_CALLS = rf"\s*\(\s*{NUMBER}\s*calls/s\)"


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    yield from mean_of(output, kept, "send-speed", "send")
    yield from mean_of(output, kept, "bpf-speed", "bpf")
    yield from mean_of(output, kept, "receive-speed", "receive")


KIND = Kind(
    name="sockmap",
    metrics={
        "send-speed": MetricShape("MB/s", "higher"),
        "bpf-speed": MetricShape("MB/s", "higher"),
        "receive-speed": MetricShape("MB/s", "higher", primary=True),
    },
    forms=(
        LineForm(
            "iter",
            name_groups(
                rf"{ITER}Send Speed\s+{_SPEED}{_CALLS},\s*BPF Speed\s+{_SPEED},\s*Rcv Speed"
                rf"\s+{_SPEED}{_CALLS}",
                *("send", "_", "bpf", "receive", "_"),
            ),
        ),
        # The number after ± is the mean rate, not a deviation.
        # The total before it depends only on the duration.
        LineForm(
            "summary", name_groups(rf"Summary:\s*total trans\s+(\d+)\s*MB{PLUS_MINUS}MB/s", "_", "receive")
        ),
    ),
    values=_values,
)
