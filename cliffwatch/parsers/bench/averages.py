"""Computes the values of a benchmark from its readings: means, and latencies refined by the Summary."""

import math
from collections.abc import Mapping, Sequence

from cliffwatch.parsers.bench.kind import (
    STEP,
    BenchOutput,
    Kind,
    MetricShape,
    MetricValue,
    MetricValues,
    Reading,
)

DOUBTFUL = 0.01
"""The relative difference from which on Summary and Iter lines disagree."""

NS_PER = {"ns": 1.0, "us": 1e3, "ms": 1e6}


def values_of(kind: Kind, output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    """Yields the metrics of an output of this kind. `kept` are the readings after warm-up."""
    return kind.values(output, kept) if kind.values else means(kind.metrics, output, kept)


def means(metrics: Mapping[str, MetricShape], output: BenchOutput, kept: Sequence[Reading]) -> MetricValues:
    """Yields the mean of each metric's field over the readings, or over the final lines, one per CPU.

    Without either, its Summary. Nothing for metrics without a field, or whose field was not printed.
    """
    rows = [each.fields for each in kept] or [fields for _, fields in output.finals]
    for metric, shape in metrics.items():
        name = shape.field or ""
        readings = tuple(fields[name] for fields in rows if name in fields)
        if readings or name in output.summary:
            value = sum(readings) / len(readings) if readings else output.summary[name]
            yield MetricValue(metric=metric, value=value, samples=readings, resolution=shape.step)


def rate_and_latency(
    output: BenchOutput,
    kept: Sequence[Reading],
    rates: Sequence[float],
    metrics: tuple[str, str],
    producers: int = 1,
    scale: float = 1.0,
) -> MetricValues:
    """Yields rate and latency of a kind whose Summary prints both.

    An Iter line prints the rate with three decimals: 0.063M/s is known to 0.8 %. The Summary's latency has
    more digits (15789.474 ns) but assumes nominal seconds. It is corrected by the true intervals of the Iter
    lines.

    `rates` are in M ops/s. `scale` converts a printed rate to M ops/s. `metrics` names the rate and the
    latency.
    """
    if not all(map(math.isfinite, rates)):
        yield MetricValue(metric=metrics[0], value=math.inf, samples=tuple(rates))
        return
    latency = _sharp_latency(output, kept, rates, producers)
    resolution = STEP * NS_PER[output.units.get("time", "ns")]
    if latency is None and rates and all(rates):
        latency = 1000 * producers * len(rates) / sum(rates)
        resolution = latency * STEP * scale * len(rates) / sum(rates)
    if latency is None:
        return
    latencies = tuple(1000 * producers / rate for rate in rates if rate)
    rate = 1000 * producers / latency if latency else math.inf
    step = rate * resolution / latency if latency else 0.0
    yield MetricValue(metric=metrics[0], value=rate, samples=tuple(rates), resolution=step)
    yield MetricValue(metric=metrics[1], value=latency, samples=latencies, resolution=resolution)


def _sharp_latency(
    output: BenchOutput, kept: Sequence[Reading], rates: Sequence[float], producers: int
) -> float | None:
    """Corrects the Summary's latency by the true intervals. None if the Iter lines do not confirm it."""
    printed = output.summary.get("latency", math.nan) * NS_PER[output.units.get("time", "ns")]
    if not math.isfinite(printed) or printed <= 0:
        return None
    if not rates:
        return printed
    if not all(rate > 0 for rate in rates):
        return None
    counted = sum(rate * each.seconds for rate, each in zip(rates, kept, strict=True)) / len(rates)
    expected = 1000 * producers / counted
    tolerance = DOUBTFUL + 2 * STEP / min(rates)
    if abs(printed / expected - 1) > tolerance:
        return None
    return printed * sum(each.seconds for each in kept) / len(kept)
