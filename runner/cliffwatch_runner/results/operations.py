"""Computes instructions per operation from counted instructions and counted operations.

bench prints a rate by the guest's clock, with few digits. If the suite names the function or BPF program that
each operation calls, its calls in the window are exact. The printed rate then gives the number of operations
per call.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from cliffwatch.catalogue.suite import PlannedCase
from cliffwatch.comparing.attribution.operations import plain_name
from cliffwatch.formats.code.function_counts import CaseCounts, CodeObject, FunctionCountsRecord
from cliffwatch.parsers.bench.kinds import KIND_METRICS, KINDS
from cliffwatch.parsers.per_operation import (
    DROPS,
    INSTRUCTIONS,
    as_instructions,
    is_rate,
    is_rate_of_bytes,
    nanoseconds,
)
from cliffwatch.samples import Sample
from cliffwatch_runner.results.outcomes import PartEnd

_NEAR = 0.005
"""How far the printed rate may be from a whole number of operations per call, beyond its last digit, as a
fraction.

A window ends with a reading, not with a call, and bench reads late: a quarter of trig-kernel-count was 0.23 %
off.
"""
_LATE = 0.01
"""Share by which a window may last longer than planned.

bench reads when the benchmark lets it. A call that runs for more than a second delays its readings, and the
printed rate then says nothing about the operations between two of them.
"""
_MOST_FOR_A_CALL = 10_000


class Operations(NamedTuple):
    """The operations of a window."""

    number: float
    operation: str | None
    """The function or BPF program whose calls were counted; None if the printed rate was used."""


def operations_in_window(
    case: PlannedCase,
    samples: Sequence[Sample],
    calls: Mapping[tuple[CodeObject, str], int],
    instructions: int,
) -> Operations | None:
    """Returns how many operations a case made in its window; None if its values do not cover the window.

    `instructions` are those of the window, one nanosecond each.
    """
    rate = _rate(case, samples)
    if rate is None:
        return None
    called = _count_calls(case, calls)
    if case.timed_in_part or is_rate_of_bytes(rate.unit):
        return Operations(float(called), case.operation) if called else None
    each = nanoseconds(rate.value, rate.unit)
    if each is None:
        return None
    printed = case.duration * 1e9 / each
    for_a_call = _whole(printed / called, _NEAR + rate.resolution / rate.value) if called else None
    if for_a_call is not None:
        return Operations(called * for_a_call, case.operation)
    if instructions > (1 + _LATE) * case.duration * 1e9:
        return None
    kind = KINDS.get(case.kind or "")
    return Operations(printed, None) if kind is not None and kind.rate is not None else None


def operations_of_whole(case: PlannedCase, calls: Mapping[tuple[CodeObject, str], int]) -> Operations | None:
    """Returns the operations of a case that was counted with its set-up; None if its suite names none."""
    called = _count_calls(case, calls)
    return Operations(float(called), case.operation) if called else None


def _count_calls(case: PlannedCase, calls: Mapping[tuple[CodeObject, str], int]) -> int:
    """Counts the calls of what the suite names as its operation."""
    name = case.operation.removeprefix("bpf:")
    kind_of_code: CodeObject = "bpf" if name != case.operation else "kernel"
    return sum(
        times
        for (code, function), times in calls.items()
        if code == kind_of_code and plain_name(function) == name
    )


def _whole(ratio: float, near: float) -> float | None:
    """Returns the operations per call as a whole number or one over a whole number; None if the ratio is near
    neither.

    Of several candidates the roundest wins: benchmarks loop 100 or 1024 times, and the nearest number would
    vary per boot.
    """
    for value, turned in ((ratio, False), (1 / ratio if ratio else 0.0, True)):
        if value > _MOST_FOR_A_CALL:
            continue
        wholes = range(max(1, math.ceil(value * (1 - near))), math.floor(value * (1 + near)) + 1)
        if wholes:
            roundest = max(wholes, key=lambda each: (_roundness(each), -abs(each - value)))
            return 1 / roundest if turned else float(roundest)
    return None


def _roundness(number: int) -> int:
    """Returns the largest power of two or of ten that divides the number."""
    ten = 1
    while number % (10 * ten) == 0:
        ten *= 10
    return max(ten, number & -number)


def _rate(case: PlannedCase, samples: Sequence[Sample]) -> Sample | None:
    """Returns the sample with the rate of operations: the metric that decides in walltime."""
    if case.program is not None:
        return None
    known = case.primary or next((name for sample in samples for name in _primaries(sample)), "")
    found = next((sample for sample in samples if sample.metric == known), None)
    return found if found is not None and nanoseconds(1.0, found.unit) is not None else None


def _primaries(sample: Sample) -> Iterator[str]:
    for shapes in KIND_METRICS.values():
        shape = shapes.get(sample.metric)
        if shape is not None and shape.primary and shape.unit == sample.unit:
            yield sample.metric


def convert_to_instructions(
    planned: Sequence[PlannedCase], part: PartEnd, counts: FunctionCountsRecord | None
) -> PartEnd:
    """Converts the samples of a part's cases to instructions."""
    by_case = {} if counts is None else {each.case: each for each in counts.cases}
    results = {
        index: replace(
            result,
            samples=instruction_samples(planned[index], result.samples, by_case.get(planned[index].key)),
        )
        for index, result in part.results.items()
    }
    return replace(part, results=results)


def instruction_samples(
    case: PlannedCase, samples: Sequence[Sample], counts: CaseCounts | None
) -> tuple[Sample, ...]:
    """Returns the samples in icount units: a time per operation becomes instructions, rates derived from it
    are dropped.

    `counts` are the function counts of the case. Without them, and for suites' own programs, the printed
    value is taken as the number of instructions; not if bench timed a part of what an operation does.
    """
    rate = _rate(case, samples)
    if rate is None:
        return tuple(_rename_time(sample) for sample in samples)
    kept = [
        converted
        for sample in samples
        if sample is not rate
        if (converted := _convert_other_sample(sample, rate)) is not None
    ]
    if case.timed_in_part and case.operation and (counts is None or counts.operation is None):
        return tuple(kept)
    return (_counted(rate, counts, timed_in_part=case.timed_in_part), *kept)


def _counted(rate: Sample, counts: CaseCounts | None, *, timed_in_part: bool) -> Sample:
    operations = None if counts is None else counts.operations
    step = rate.resolution / rate.value if rate.value else 0.0
    if counts is None or operations is None:
        value = nanoseconds(rate.value, rate.unit) or 0.0
        return rate._replace(
            metric=INSTRUCTIONS, unit=INSTRUCTIONS, value=value, readings=(), resolution=value * step
        )
    value = sum(count for _, count in counts.counts) / operations
    if counts.operation is not None:
        # A window ends within an operation. Those that empty and fill a map are so few that it shows.
        step = 1 / operations if timed_in_part else 0.0
    return Sample(rate.case, INSTRUCTIONS, INSTRUCTIONS, value, resolution=value * step)


def _convert_other_sample(sample: Sample, rate: Sample) -> Sample | None:
    """Converts a sample other than the deciding one; None if it follows from that one."""
    if sample.metric == "drops" and is_rate(sample.unit) and sample.unit == rate.unit:
        share = sample.value / rate.value if rate.value else 0.0
        return sample._replace(
            unit=DROPS, value=share, readings=(), resolution=sample.resolution / (rate.value or 1.0)
        )
    if is_rate(sample.unit):
        return None
    return _rename_time(sample)


def _rename_time(sample: Sample) -> Sample:
    """Converts a time per operation by the guest's clock to instructions. Other samples stay as they are."""
    named = as_instructions(sample.metric, sample.unit)
    if named is None:
        return sample
    scale = nanoseconds(1.0, sample.unit) or 1.0
    return sample._replace(
        metric=named[0],
        unit=named[1],
        value=sample.value * scale,
        readings=tuple(each * scale for each in sample.readings),
        resolution=sample.resolution * scale,
    )
