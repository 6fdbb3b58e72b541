"""bench's Summary compared with the Iter lines: which readings are warm, and whether the two agree."""

import math
from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import DOUBTFUL, STEP
from cliffwatch.parsers.bench.kind import BenchOutput, Reading


def warm(output: BenchOutput, warmup: int | None) -> list[Reading]:
    """The readings after warm-up. Without a given number it is the one that makes the Summary's mean, else 1.

    bench reports on the readings from `-w` on and says nowhere which that was.
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


def disagreement(output: BenchOutput, kept: Sequence[Reading]) -> str | None:
    """Where Summary and Iter lines give different numbers, beyond what rounding and slipped intervals
    explain.
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
                f"the Summary says {summary:g} where the Iter lines make {mean:g}: readings are missing or"
                " were changed"
            )
    return None
