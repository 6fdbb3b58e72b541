"""False positive rate of a bloom filter: false hits out of all operations."""

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
from cliffwatch.parsers.bench.patterns import ITER, NUMBER, name_groups


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    rates = tuple(
        100 * each.fields["false_hits"] / each.fields["total"] for each in kept if each.fields.get("total")
    )
    if rates:
        yield MetricValue(metric="false-positive-rate", value=sum(rates) / len(rates), samples=rates)
    elif output.summary.get("total"):
        rate = 100 * output.summary["false_hits"] / output.summary["total"]
        yield MetricValue(metric="false-positive-rate", value=rate)


_COUNTS = rf"(-?\d+) false hits of (-?\d+) total operations\. Percentage =\s*{NUMBER}\s*%"
_FIELDS = ("false_hits", "total", "percentage")

KIND = Kind(
    name="false-hits",
    metrics={"false-positive-rate": MetricShape("%", "lower", primary=True)},
    forms=(
        LineForm("iter", name_groups(rf"{ITER}{_COUNTS}", *_FIELDS)),
        LineForm("summary", name_groups(rf"Summary:\s*{_COUNTS}", *_FIELDS)),
    ),
    values=_values,
)
