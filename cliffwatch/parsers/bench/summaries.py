"""What bench's Summary says, held against the Iter lines: which readings are warm, and whether the two agree."""

import math
from collections.abc import Sequence

from cliffwatch.parsers.bench.averages import DOUBTFUL, STEP
from cliffwatch.parsers.bench.kind import Reading, Section


def warm(section: Section, warmup: int | None) -> list[Reading]:
    """The readings after warm-up. Without a given number it is the one that makes the Summary's mean, else 1.

    bench reports on the readings from `-w` on and says nowhere which that was.
    """
    count = len(section.readings)
    if warmup is None:
        warmup = _fitting_warmup(section)
    return section.readings[warmup:] if warmup < count else section.readings[-1:]


def _fitting_warmup(section: Section) -> int:
    name = section.kind.rate if section.kind else None
    if name is None or name not in section.summary or len(section.readings) < 3:
        return 1
    target = section.summary[name]

    def distance(warmup: int) -> float:
        kept = section.readings[warmup:]
        mean = sum(each.fields.get(name, math.nan) * each.seconds for each in kept) / len(kept)
        return abs(mean - target) if math.isfinite(mean) else math.inf

    best = min(range(1, len(section.readings)), key=distance)
    return 1 if distance(1) <= distance(best) + STEP else best


def disagreement(section: Section, kept: Sequence[Reading]) -> str | None:
    """Where Summary and Iter lines give different numbers, beyond what rounding and slipped intervals explain."""
    if section.kind is None or not kept:
        return None
    for name in (section.kind.rate, section.kind.level):
        if name is None or name not in section.summary or name not in kept[0].fields:
            continue
        numbers = [each.fields[name] * (each.seconds if name == section.kind.rate else 1.0) for each in kept]
        mean, summary = sum(numbers) / len(numbers), section.summary[name]
        if abs(mean - summary) > max(DOUBTFUL * abs(summary), 10 * STEP):
            return (
                f"the Summary says {summary:g} where the Iter lines make {mean:g}: readings are missing or were changed"
            )
    return None
