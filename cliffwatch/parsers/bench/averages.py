"""From the readings of one benchmark run to its values."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch.parsers.bench.lines import Found

_STEP = 0.001
"""bench prints three decimals: two rates that differ by less may be equal."""
_DOUBTFUL = 0.01
_MILLION_PER = {"M": 1.0, "K": 1e-3, "k": 1e-3}
_NS_PER = {"ns": 1.0, "us": 1e3, "ms": 1e6}


@dataclass(frozen=True, slots=True)
class Reading:
    """One Iter line: its fields, and the true length of its interval in seconds (1 where the line does not say)."""

    fields: Mapping[str, float]
    seconds: float


@dataclass(slots=True)
class Section:
    """The lines of one run of one benchmark, collected while the output is read."""

    name: str | None
    line: int
    kind: str | None = None
    readings: list[Reading] = field(default_factory=list)
    summary: dict[str, float] = field(default_factory=dict)
    summary_line: int = 0
    finals: list[tuple[Mapping[str, str], Mapping[str, float]]] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    failures: list[tuple[int, str]] = field(default_factory=list)
    doubts: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One metric as a section gives it, before suite and benchmark are known."""

    metric: str
    unit: str
    value: float
    samples: tuple[float, ...]
    resolution: float
    params: Mapping[str, str]


Rows = Iterator[Measured]


def numbers(found: Found) -> dict[str, float]:
    """The numeric fields of a line; `inf` and `nan` come through as such."""
    result: dict[str, float] = {}
    for name, text in found.fields.items():
        try:
            result[name] = float(text)
        except ValueError:
            continue
    return result


def warm(section: Section, warmup: int | None) -> list[Reading]:
    """The readings after warm-up. Without a given number it is the one that makes the Summary's mean, else 1.

    bench reports on the readings from `-w` on and says nowhere which that was.
    """
    count = len(section.readings)
    if warmup is None:
        warmup = _fitting_warmup(section)
    return section.readings[warmup:] if warmup < count else section.readings[-1:]


def _fitting_warmup(section: Section) -> int:
    name = next((name for name in ("hits", "creates", "ops") if name in section.summary), None)
    if name is None or len(section.readings) < 3:
        return 1
    target = section.summary[name]

    def distance(warmup: int) -> float:
        kept = section.readings[warmup:]
        mean = sum(each.fields.get(name, math.nan) * each.seconds for each in kept) / len(kept)
        return abs(mean - target) if math.isfinite(mean) else math.inf

    best = min(range(1, len(section.readings)), key=distance)
    return 1 if distance(1) <= distance(best) + _STEP else best


def disagreement(section: Section, kept: Sequence[Reading]) -> str | None:
    """Where Summary and Iter lines tell different rates, beyond what rounding and slipped intervals explain."""
    for name in ("hits", "creates", "ops", "memory"):
        if name not in section.summary or not kept or name not in kept[0].fields:
            continue
        per_second = [each.fields[name] * (1.0 if name == "memory" else each.seconds) for each in kept]
        mean, said = sum(per_second) / len(per_second), section.summary[name]
        if abs(mean - said) > max(_DOUBTFUL * abs(said), 10 * _STEP):
            return f"the Summary says {said:g} where the Iter lines make {mean:g}: readings are missing or were changed"
    return None


def values_of(section: Section, kept: Sequence[Reading]) -> Rows:
    """The metrics of a section; rates from the Iter lines, sharpened by the Summary's latency where it has more digits."""
    if section.kind is None:
        return iter(())
    return _BY_KIND[section.kind](section, kept)


def _mean_of(section: Section, kept: Sequence[Reading], metric: str, name: str, *, step: float = _STEP) -> Rows:
    readings = tuple(each.fields[name] for each in kept if name in each.fields)
    if not readings and name not in section.summary:
        return
    value = sum(readings) / len(readings) if readings else section.summary[name]
    yield _measured(section, metric, value, readings, step)


def _measured(
    section: Section,
    metric: str,
    value: float,
    samples: Sequence[float],
    resolution: float,
    params: Mapping[str, str] | None = None,
) -> Measured:
    assert section.kind is not None
    return Measured(
        metric=metric,
        unit=KIND_METRICS[section.kind][metric].unit,
        value=value,
        samples=tuple(samples),
        resolution=resolution,
        params=params or {},
    )


def _hits_drops(section: Section, kept: Sequence[Reading]) -> Rows:
    yield from _mean_of(section, kept, "hits", "hits")
    yield from _mean_of(section, kept, "hits-per-producer", "per_prod")
    yield from _mean_of(section, kept, "drops", "drops")
    yield from _mean_of(section, kept, "total", "total")


def _false_hits(section: Section, kept: Sequence[Reading]) -> Rows:
    rates = [100 * each.fields["false_hits"] / each.fields["total"] for each in kept if each.fields.get("total")]
    if rates:
        yield _measured(section, "false-positive-rate", sum(rates) / len(rates), rates, 0.0)
    elif section.summary.get("total"):
        rate = 100 * section.summary["false_hits"] / section.summary["total"]
        yield _measured(section, "false-positive-rate", rate, (), 0.0)


def _ops(section: Section, kept: Sequence[Reading]) -> Rows:
    scale = _MILLION_PER[section.units.get("letter", "M")]
    fields = kept[-1].fields if kept else section.summary
    per_prod = fields.get("per_prod", 0.0)
    ratio = fields["hits"] / per_prod if per_prod else 1.0
    producers = max(1, round(ratio)) if math.isfinite(ratio) else 1
    rates = [each.fields["hits"] * scale for each in kept]
    yield from _rate_and_latency(section, kept, rates, ("throughput", "latency"), producers, scale)
    each_rates = [each.fields["per_prod"] * scale for each in kept]
    if each_rates:
        mean = sum(each_rates) / len(each_rates)
        yield _measured(section, "throughput-per-producer", mean, each_rates, _STEP * scale)


def _local_storage(section: Section, kept: Sequence[Reading]) -> Rows:
    rates = [each.fields["hits"] for each in kept]
    yield from _rate_and_latency(section, kept, rates, ("hits-throughput", "hits-latency"), 1, 1.0)
    yield from _mean_of(section, kept, "important-hits-throughput", "important")


def _rate_and_latency(
    section: Section,
    kept: Sequence[Reading],
    rates: Sequence[float],
    metrics: tuple[str, str],
    producers: int,
    scale: float,
) -> Rows:
    """Rate and latency of a kind whose Summary prints both.

    An Iter line shows a rate to three decimals: 0.063M/s is known to 0.8 %. The Summary's latency has more digits
    (15789.474 ns) but counts nominal seconds, so it is put right by the intervals that the Iter lines print.
    """
    if not all(map(math.isfinite, rates)):
        yield _measured(section, metrics[0], math.inf, rates, 0.0)
        return
    latency = _sharp_latency(section, kept, rates, producers)
    resolution = _STEP * _NS_PER[section.units.get("time", "ns")]
    if latency is None and rates and all(rates):
        latency = 1000 * producers * len(rates) / sum(rates)
        resolution = latency * _STEP * scale * len(rates) / sum(rates)
    if latency is None:
        return
    latencies = [1000 * producers / rate for rate in rates if rate]
    rate = 1000 * producers / latency if latency else math.inf
    yield _measured(section, metrics[0], rate, rates, rate * resolution / latency if latency else 0.0)
    yield _measured(section, metrics[1], latency, latencies, resolution)


def _sharp_latency(section: Section, kept: Sequence[Reading], rates: Sequence[float], producers: int) -> float | None:
    """The Summary's latency at true intervals, if the Iter lines bear it out; None if not."""
    said = section.summary.get("latency", math.nan) * _NS_PER[section.units.get("time", "ns")]
    if not math.isfinite(said) or said <= 0:
        return None
    if not rates:
        return said
    if not all(rate > 0 for rate in rates):
        return None
    counted = sum(rate * each.seconds for rate, each in zip(rates, kept, strict=True)) / len(rates)
    expected = 1000 * producers / counted
    tolerance = _DOUBTFUL + 2 * _STEP / min(rates)
    if abs(said / expected - 1) > tolerance:
        return None
    return said * sum(each.seconds for each in kept) / len(kept)


def _create(section: Section, kept: Sequence[Reading]) -> Rows:
    yield from _mean_of(section, kept, "creates", "creates")
    yield from _mean_of(section, kept, "creates-per-producer", "per_prod")
    yield from _mean_of(section, kept, "kmallocs", "kmallocs", step=0.01)


def _htab_mem(section: Section, kept: Sequence[Reading]) -> Rows:
    yield from _mean_of(section, kept, "per-producer-ops", "ops", step=0.01)
    yield from _mean_of(section, kept, "memory", "memory", step=0.01)
    if "peak" in section.summary:
        yield _measured(section, "peak-memory", section.summary["peak"], (), 0.01)


def _tasks_trace(section: Section, kept: Sequence[Reading]) -> Rows:
    latencies = [each.fields["latency"] / 1000 for each in kept if "latency" in each.fields]
    if latencies or "latency" in section.summary:
        value = sum(latencies) / len(latencies) if latencies else section.summary["latency"]
        yield _measured(section, "grace-period-latency", value, latencies, _STEP)
    yield from _mean_of(section, kept, "ticks", "ticks")


def _per_cpu(metric: str, name: str, step: float) -> Callable[[Section, Sequence[Reading]], Rows]:
    """Mean over the CPUs that ran, one sample a CPU."""

    def rows(section: Section, _: Sequence[Reading]) -> Rows:
        readings = [fields[name] for _, fields in section.finals]
        if readings:
            yield _measured(section, metric, sum(readings) / len(readings), readings, step)

    return rows


def _sockmap(section: Section, kept: Sequence[Reading]) -> Rows:
    yield from _mean_of(section, kept, "send-speed", "send")
    yield from _mean_of(section, kept, "bpf-speed", "bpf")
    yield from _mean_of(section, kept, "receive-speed", "receive")


def _timing(section: Section, _: Sequence[Reading]) -> Rows:
    """One result a scenario; with --machine-readable a scenario is printed twice, and the later line stands."""
    by_scenario = {texts.get("scenario", ""): fields for texts, fields in section.finals}
    if len(by_scenario) > 1:
        by_scenario.pop("", None)
    for scenario, fields in by_scenario.items():
        params = {"scenario": scenario} if scenario else {}
        yield _measured(section, "latency", fields["latency"], (), 0.01, params)
        yield _measured(section, "latency-p99", fields["p99"], (), 0.01, params)


_BY_KIND: Mapping[str, Callable[[Section, Sequence[Reading]], Rows]] = {
    "hits-drops": _hits_drops,
    "false-hits": _false_hits,
    "ops": _ops,
    "local-storage": _local_storage,
    "local-storage-create": _create,
    "htab-mem": _htab_mem,
    "tasks-trace": _tasks_trace,
    "hashmap-lookup": _per_cpu("lookups", "lookups", _STEP),
    "hashmap-full-update": _per_cpu("updates", "updates", 1.0),
    "sockmap": _sockmap,
    "timing": _timing,
}
