"""False positive rate of a bloom filter: false hits out of all operations."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.kind import (
    ITER,
    BenchOutput,
    Kind,
    LineForm,
    MetricShape,
    MetricValue,
    MetricValues,
    Reading,
)


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    rates = tuple(
        100 * each.fields["false_hits"] / each.fields["total"] for each in kept if each.fields.get("total")
    )
    if rates:
        yield MetricValue(metric="false-positive-rate", value=sum(rates) / len(rates), samples=rates)
    elif output.summary.get("total"):
        rate = 100 * output.summary["false_hits"] / output.summary["total"]
        yield MetricValue(metric="false-positive-rate", value=rate)


_COUNTS = "{false_hits} false hits of {total} total operations. Percentage = {percentage} %"

KIND = Kind(
    name="false-hits",
    metrics={"false-positive-rate": MetricShape("%", "lower", primary=True)},
    forms=(
        LineForm("iter", ITER + _COUNTS),
        LineForm("summary", f"Summary: {_COUNTS}"),
    ),
    values=_values,
)
