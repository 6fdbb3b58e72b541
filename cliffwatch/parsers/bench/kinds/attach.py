"""Time to attach a program to many functions and to detach it: tracing-multi-attach, kprobe_multi's test."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.kind import (
    BenchOutput,
    Kind,
    LineForm,
    MetricShape,
    MetricValue,
    MetricValues,
    Reading,
)
from cliffwatch.parsers.bench.patterns import NUMBER, name_groups

_WHO = r"(?:(?P<who>[\w.-]{1,80}):\s*)?"
_STEP = 0.001


def _values(output: BenchOutput, _: Sequence[Reading]) -> MetricValues:
    for _texts, numbers in output.finals:
        for metric, name in (
            ("attach-time", "attached"),
            ("detach-time", "detached"),
            ("functions", "functions"),
        ):
            if name in numbers:
                yield MetricValue(
                    metric=metric, value=numbers[name], resolution=0.0 if name == "functions" else _STEP
                )


KIND = Kind(
    name="attach",
    metrics={
        "attach-time": MetricShape("s", "lower", primary=True),
        "detach-time": MetricShape("s", "lower", primary=True),
        "functions": MetricShape("functions", "higher"),
    },
    forms=(
        LineForm("final", name_groups(_WHO + r"found\s+(\d+)\s+functions", "functions")),
        LineForm("final", name_groups(_WHO + rf"attached in\s+{NUMBER}\s*s", "attached")),
        LineForm("final", name_groups(_WHO + rf"detached in\s+{NUMBER}\s*s", "detached")),
    ),
    values=_values,
    marks=("found ", "attached in", "detached in"),
    once=True,
    name_field="who",
)
