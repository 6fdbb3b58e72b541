"""Time to attach a program to many functions and to detach it: tracing-multi-attach, kprobe_multi's test."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.kind import (
    STEP,
    BenchOutput,
    Kind,
    LineForm,
    MetricShape,
    MetricValue,
    MetricValues,
    Reading,
)

_WHO = r"[{who:[\w.-]+}: ]"


def _values(output: BenchOutput, _: Sequence[Reading]) -> MetricValues:
    for _texts, numbers in output.finals:
        for metric, name in (
            ("attach-time", "attached"),
            ("detach-time", "detached"),
            ("functions", "functions"),
        ):
            if name in numbers:
                yield MetricValue(
                    metric=metric, value=numbers[name], resolution=0.0 if name == "functions" else STEP
                )


KIND = Kind(
    name="attach",
    metrics={
        "attach-time": MetricShape("s", "lower", primary=True),
        "detach-time": MetricShape("s", "lower", primary=True),
        "functions": MetricShape("functions", "higher"),
    },
    forms=(
        LineForm("final", _WHO + "found {functions} functions"),
        LineForm("final", _WHO + "attached in {attached} s"),
        LineForm("final", _WHO + "detached in {detached} s"),
    ),
    values=_values,
    marks=("found ", "attached in", "detached in"),
    once=True,
    name_field="who",
)
