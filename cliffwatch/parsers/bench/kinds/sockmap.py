"""Throughput of a sockmap: sent, forwarded by BPF, received."""

from cliffwatch.parsers.bench.kind import ITER, Kind, LineForm, MetricShape

KIND = Kind(
    name="sockmap",
    metrics={
        "send-speed": MetricShape("MB/s", "higher", field="send"),
        "bpf-speed": MetricShape("MB/s", "higher", field="bpf"),
        "receive-speed": MetricShape("MB/s", "higher", primary=True, field="receive"),
    },
    forms=(
        LineForm(
            "iter",
            ITER + "Send Speed {send} MB/s ( {} calls/s), BPF Speed {bpf} MB/s,"
            " Rcv Speed {receive} MB/s ( {} calls/s)",
        ),
        # The number after ± is the mean rate, not a deviation.
        # The total before it depends only on the duration.
        LineForm("summary", "Summary: total trans {} MB ± {receive} MB/s"),
    ),
)
