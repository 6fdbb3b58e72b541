"""Operations per second and latency per operation: loops, string comparison, crypto, LPM tries."""

import math
from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import rate_and_latency
from cliffwatch.parsers.bench.kind import (
    ITER,
    STEP,
    BenchOutput,
    Kind,
    LineForm,
    MetricShape,
    MetricValue,
    MetricValues,
    Reading,
)

_MILLION_PER = {"M": 1.0, "K": 1e-3, "k": 1e-3}


def _values(output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    scale = _MILLION_PER[output.units.get("letter", "M")]
    fields = kept[-1].fields if kept else output.summary
    per_prod = fields.get("per_prod", 0.0)
    ratio = fields["hits"] / per_prod if per_prod else 1.0
    producers = max(1, round(ratio)) if math.isfinite(ratio) else 1
    rates = [each.fields["hits"] * scale for each in kept]
    yield from rate_and_latency(output, kept, rates, ("throughput", "latency"), producers, scale)
    per_producer = tuple(each.fields["per_prod"] * scale for each in kept)
    if per_producer:
        mean = sum(per_producer) / len(per_producer)
        yield MetricValue(
            metric="throughput-per-producer", value=mean, samples=per_producer, resolution=STEP * scale
        )


KIND = Kind(
    name="ops",
    metrics={
        "throughput": MetricShape("M ops/s", "higher"),
        "throughput-per-producer": MetricShape("M ops/s", "higher"),
        "latency": MetricShape("ns/op", "lower", primary=True),
    },
    forms=(
        LineForm("iter", ITER + "hits {hits} {letter:[MKk]}/s ( {per_prod} {:[MKk]}/prod)"),
        LineForm(
            "summary",
            "Summary: throughput {hits} ± {} {letter:[MKk]} ops/s ( {per_prod} {:[MKk]} ops/prod),"
            " latency {latency} {time:ns|us|ms}/op",
        ),
    ),
    values=_values,
    rate="hits",
)
