"""Compares bench's Summary with its Iter lines, to find the warm-up and to detect disagreement."""

import math
from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import DOUBTFUL
from cliffwatch.parsers.bench.kind import STEP, BenchOutput, Reading


def drop_warmup(output: BenchOutput, warmup: int | None) -> list[Reading]:
    """Returns the readings after warm-up.

    bench summarises the readings from `-w` on, but does not print `-w`. If `warmup` is None, the warm-up is
    the number of readings that reproduces the Summary's mean, or else 1.
    """
    count = len(output.readings)
    if warmup is None:
        warmup = _fitting_warmup(output)
    return output.readings[warmup:] if warmup < count else output.readings[-1:]


def _fitting_warmup(output: BenchOutput) -> int:
    name = output.kind.rate if output.kind else None
    if name is None or name not in output.summary or len(output.readings) < 3:
        return 1
    target = output.summary[name]

    def distance(warmup: int) -> float:
        kept = output.readings[warmup:]
        mean = sum(each.fields.get(name, math.nan) * each.seconds for each in kept) / len(kept)
        return abs(mean - target) if math.isfinite(mean) else math.inf

    best = min(range(1, len(output.readings)), key=distance)
    return 1 if distance(1) <= distance(best) + STEP else best


def find_disagreement(output: BenchOutput, kept: Sequence[Reading]) -> str | None:
    """Describes a disagreement between Summary and Iter lines. None if they agree.

    Differences from rounding and slipped intervals are tolerated.
    """
    if output.kind is None or not kept:
        return None
    for name in (output.kind.rate, output.kind.level):
        if name is None or name not in output.summary or name not in kept[0].fields:
            continue
        numbers = [each.fields[name] * (each.seconds if name == output.kind.rate else 1.0) for each in kept]
        mean, summary = sum(numbers) / len(numbers), output.summary[name]
        if abs(mean - summary) > max(DOUBTFUL * abs(summary), 10 * STEP):
            return (
                f"the Summary says {summary:g}, but the Iter lines average {mean:g}: readings are missing "
                f"or were changed"
            )
    return None
