"""Table rows of the scripts run_bench_*.sh. Each row is the Summary of one run.

Example: `uprobe-nop  ( 2 cpus):  6.028 ± 0.008M/s  (  3.014M/s/cpu)`.

Sources: tools/testing/selftests/bpf/benchs/run_common.sh and run_bench_*.sh, linux 5.9 to 7.2.
"""

import re
from collections.abc import Mapping, Sequence

from cliffwatch.parsers.bench.averages import STEP
from cliffwatch.parsers.bench.kind import (
    BenchOutput,
    Kind,
    LineForm,
    MetricShape,
    MetricValue,
    MetricValues,
    Reading,
)
from cliffwatch.parsers.bench.patterns import NUMBER, PLUS_MINUS, name_groups

_WHO = r"(?!Summary|SUMMARY|Iter\s)(?P<who>[A-Za-z][\w.+-]{0,60}(?: {1,6}[\w.+\x28\x29-]{1,30}){0,4}?)"
_CPUS = r"(?:\s{0,20}\(\s{0,4}(?P<cpus>\d{1,4}) cpus?\))?"
_BEGIN = rf"{_WHO}{_CPUS}\s{{0,40}}:?\s{{1,40}}"
_TRIGGERS = re.compile(
    r"(?:usermode|kernel|syscall)-count|(?:uprobe|uretprobe|usdt)-.*|k(?:ret)?probe-multi.*|fmodret|tp"
)
"""Benchmarks of run_bench_trigger.sh and run_bench_uprobes.sh, which omit `trig-`.

Names that another script uses too are not included.
"""

_METRICS = {
    "hits": ("hits", STEP),
    "per_prod": ("hits-per-producer", STEP),
    "drops": ("drops", STEP),
    "throughput": ("throughput", STEP),
    "latency": ("latency", STEP),
    "hits_throughput": ("hits-throughput", STEP),
    "hits_latency": ("hits-latency", STEP),
    "important": ("important-hits-throughput", STEP),
    "rate": ("false-positive-rate", 0.01),
    "ops": ("per-producer-ops", 0.01),
    "memory": ("memory", 0.01),
    "peak": ("peak-memory", 0.01),
}


def _values(output: BenchOutput, _: Sequence[Reading]) -> MetricValues:
    for _texts, numbers in output.finals:
        for name, (metric, step) in _METRICS.items():
            if name in numbers:
                yield MetricValue(metric=metric, value=numbers[name], resolution=step)


def _row_of(fields: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Returns the benchmark of a row, and its parameters."""
    who = " ".join(fields.get("who", "").split())
    cpus = fields.get("cpus", "1").lstrip("0") or "1"
    name = f"trig-{who}" if _TRIGGERS.fullmatch(who) else "rename-base" if who == "base" else who
    return name, {} if cpus == "1" else {"producers": cpus}


KIND = Kind(
    name="script-rows",
    metrics={
        "hits": MetricShape("M ops/s", "higher", primary=True),
        "hits-per-producer": MetricShape("M ops/s", "higher"),
        "drops": MetricShape("M ops/s", "lower"),
        "throughput": MetricShape("M ops/s", "higher"),
        "latency": MetricShape("ns/op", "lower", primary=True),
        "hits-throughput": MetricShape("M ops/s", "higher"),
        "hits-latency": MetricShape("ns/op", "lower", primary=True),
        "important-hits-throughput": MetricShape("M ops/s", "higher"),
        "false-positive-rate": MetricShape("%", "lower", primary=True),
        "per-producer-ops": MetricShape("k ops/s", "higher", primary=True),
        "memory": MetricShape("MiB", "lower"),
        "peak-memory": MetricShape("MiB", "lower"),
    },
    forms=(
        LineForm(
            "final",
            name_groups(
                rf"{_BEGIN}{NUMBER}{PLUS_MINUS}M/s(?:\s*\(drops\s+{NUMBER}{PLUS_MINUS}M/s\s*\))?"
                rf"(?:\s*\(\s*{NUMBER}\s*M/(?:s/cpu|s/prod|prod)\))?",
                *("hits", "_", "drops", "_", "per_prod"),
            ),
        ),
        LineForm(
            "final",
            name_groups(
                rf"{_BEGIN}throughput:\s*{NUMBER}{PLUS_MINUS}M ops/s,\s*latency:\s*{NUMBER}\s*ns/op",
                *("throughput", "_", "latency"),
            ),
        ),
        LineForm(
            "final",
            name_groups(
                rf"{_BEGIN}hits throughput:\s*{NUMBER}{PLUS_MINUS}M ops/s,\s*hits latency:\s*{NUMBER}"
                rf"\s*ns/op,"
                rf"\s*important_hits throughput:\s*{NUMBER}{PLUS_MINUS}M ops/s",
                *("hits_throughput", "_", "hits_latency", "important", "_"),
            ),
        ),
        LineForm(
            "final",
            name_groups(
                rf"{_BEGIN}per-prod-op:\s*{NUMBER}{PLUS_MINUS}k/s,\s*(?:avg mem|"
                rf"memory usage):\s*{NUMBER}{PLUS_MINUS}MiB,"
                rf"\s*peak (?:mem|memory usage):\s*{NUMBER}\s*MiB",
                *("ops", "_", "memory", "_", "peak"),
            ),
        ),
        LineForm("final", name_groups(rf"(?P<who>False positive rate)\s{{0,20}}:?\s*{NUMBER}\s*%", "rate")),
    ),
    values=_values,
    marks=("M/s", "M ops/s,", "MiB,", "False positive rate"),
    row_of=_row_of,
)
