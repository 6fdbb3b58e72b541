"""Table rows of the scripts run_bench_*.sh. Each row is the Summary of one run.

Example: `uprobe-nop  ( 2 cpus):  6.028 ± 0.008M/s  (  3.014M/s/cpu)`.

Sources: tools/testing/selftests/bpf/benchs/run_common.sh and run_bench_*.sh, linux 5.9 to 7.2, and the
scripts of series on the list that print with the same functions.
"""

import re
from collections.abc import Mapping

from cliffwatch.parsers.bench.kind import Kind, LineForm, MetricShape

_WHO = r"(?!Summary|SUMMARY|Iter\s)(?P<who>[A-Za-z0-9][\w.+,-]{0,60}(?: {1,6}[\w.+\x28\x29-]{1,30}){0,6}?)"
_CPUS = r"(?:\s{0,20}\(\s{0,4}(?P<cpus>\d{1,4})\s{1,4}(?:cpus?|threads?)\))?"
ROW_BEGINS = rf"{_WHO}{_CPUS}\s{{0,40}}:?\s{{1,40}}"
_TRIGGERS = re.compile(
    r"(?:usermode|kernel|syscall)-count|(?:uprobe|uretprobe|usdt)-.*|k(?:ret)?probe-multi.*|fmodret|tp"
)
"""Benchmarks of run_bench_trigger.sh and run_bench_uprobes.sh, which omit `trig-`.

Names that another script uses too are not included.
"""


def row_of(fields: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Returns the benchmark of a row, and its parameters."""
    who = " ".join(fields.get("who", "").replace(",", "").split())
    cpus = fields.get("cpus", "1").lstrip("0") or "1"
    name = f"trig-{who}" if _TRIGGERS.fullmatch(who) else "rename-base" if who == "base" else who
    return name, {} if cpus == "1" else {"producers": cpus}


KIND = Kind(
    name="script-rows",
    metrics={
        "hits": MetricShape("M ops/s", "higher", primary=True, field="hits"),
        "hits-per-producer": MetricShape("M ops/s", "higher", field="per_prod"),
        "drops": MetricShape("M ops/s", "lower", field="drops"),
        "throughput": MetricShape("M ops/s", "higher", field="throughput"),
        "latency": MetricShape("ns/op", "lower", primary=True, field="latency"),
        "hits-throughput": MetricShape("M ops/s", "higher", field="hits_throughput"),
        "hits-latency": MetricShape("ns/op", "lower", primary=True, field="hits_latency"),
        "important-hits-throughput": MetricShape("M ops/s", "higher", field="important"),
        "false-positive-rate": MetricShape("%", "lower", primary=True, field="rate", step=0.01),
        "per-producer-ops": MetricShape("k ops/s", "higher", primary=True, field="ops", step=0.01),
        "memory": MetricShape("MiB", "lower", field="memory", step=0.01),
        "peak-memory": MetricShape("MiB", "lower", field="peak", step=0.01),
    },
    forms=(
        LineForm(
            "final",
            "{hits} ± {} M/s[ (drops {drops} ± {} M/s[{:,?} mem {memory} MiB] )]"
            r"[ ( {per_prod} M/{:s/cpu|s/prod|prod})][ {:<[<-].*+}]",
            begin=ROW_BEGINS,
        ),
        LineForm(
            "final", "throughput: {throughput} ± {} M ops/s, latency: {latency} ns/op", begin=ROW_BEGINS
        ),
        LineForm(
            "final",
            "hits throughput: {hits_throughput} ± {} M ops/s, hits latency: {hits_latency} ns/op,"
            " important_hits throughput: {important} ± {} M ops/s",
            begin=ROW_BEGINS,
        ),
        LineForm(
            "final",
            r"per-prod-op{:(?:\s*:)?} {ops} ± {} k/s, {:avg mem|memory usage}{:(?:\s*:)?} {memory} ± {} MiB,"
            r" peak {:mem|memory usage}{:(?:\s*:)?} {peak} MiB",
            begin=ROW_BEGINS,
        ),
        LineForm("final", "{who:False positive rate}[ :] {rate} %"),
    ),
    marks=("M/s", "M ops/s,", "MiB,", "False positive rate"),
    row_of=row_of,
)
