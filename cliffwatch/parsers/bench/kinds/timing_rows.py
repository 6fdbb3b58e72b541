"""Rows of the table that run_bench_xdp_lb.sh makes of the timing library's results.

Example: `| tcp-v4-lru-hit  |    71.21 |    0.31 |    72.30 |`: median, standard deviation and 99th
percentile. Scripts of series on the list print more columns.

Source: tools/testing/selftests/bpf/benchs/run_bench_xdp_lb.sh, linux 7.2.
"""

from collections.abc import Mapping

from cliffwatch.parsers.bench.kind import Kind, LineForm, MetricShape

_ROW = r"\|\s*(?P<scenario>(?:tcp|udp|pass|drop)-[\w-]{1,60})\s*\|\s*"
_STEP = 0.01


def _row_of(fields: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    return "xdp-lb", {"scenario": fields["scenario"]}


KIND = Kind(
    name="timing-rows",
    metrics={
        "latency": MetricShape("ns/op", "lower", primary=True, field="latency", step=_STEP),
        "latency-p99": MetricShape("ns/op", "lower", field="p99", step=_STEP),
    },
    forms=(
        LineForm("final", "{latency} | {} | {p99} |", begin=_ROW),
        LineForm("final", "{} | {latency} | {} | {}% | {} | {} | {p99} | {} |", begin=_ROW),
        LineForm("failure", "{failure:ERR}{:[ |-]++}", begin=_ROW),
    ),
    marks=("|",),
    row_of=_row_of,
)
