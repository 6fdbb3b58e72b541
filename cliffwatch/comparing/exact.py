"""Verdicts on counted values: any difference beyond their repeatability is real, the notable alone decides what is told."""

import statistics
from dataclasses import replace

from cliffwatch.comparing.comparison import Comparison, Verdict
from cliffwatch.comparing.rows import Measurement, Row
from cliffwatch.samples import Better, Sample

NOTABLE = 0.002


def judge_exact(found: Comparison, row: Row, notable: float) -> Comparison:
    """Equal kernels give equal values, up to what is known and seen of their repeatability and the digits printed.

    What is seen is the spread between boots of a kernel, and within a boot how far its readings lie from their median: now and
    then something else runs in the guest for one of them.
    """
    assert found.base is not None
    assert found.head is not None
    change = found.head / found.base - 1
    sources = {
        "the repeatability known of it": row.traits.repeatability,
        "boots of one kernel that differ": max(_spread(row.base), _spread(row.head)),
        "readings that differ within a boot": max(_unrest(each.sample) for each in row.both()),
        "one step of the printed digits": max(each.sample.resolution / each.sample.value for each in row.both()),
    }
    widest = max(sources, key=lambda source: sources[source])
    blur = sources[widest]
    verdict, reason = _verdict(change, blur, widest, notable, row.traits.better)
    return replace(
        found,
        change=change,
        ci_low=change - blur,
        ci_high=change + blur,
        mde=max(blur, notable),
        verdict=verdict,
        reason=reason,
        steps=(
            f"counted values: medians {found.base:.6g} and {found.head:.6g} {row.unit}, change {change:+.4%}",
            f"blurred by {blur:.4%}, the largest of: "
            + ", ".join(f"{name} {size:.4%}" for name, size in sources.items()),
            f"notable from {100 * notable:.4g}% on: {verdict}, {reason}",
        ),
    )


def _verdict(change: float, blur: float, widest: str, notable: float, better: Better) -> tuple[Verdict, str]:
    if abs(change) <= blur:
        return "unchanged", f"within the repeatability of {blur:.3%}"
    if abs(change) < notable:
        return "unchanged", f"real, but below the notable {100 * notable:.4g}%"
    if abs(change) - blur < notable and blur > notable:
        return "inconclusive", f"{widest}: up to {blur:.2%}; measure longer"
    return direction(change, better), f"beyond the repeatability of {blur:.3%}"


def direction(change: float, better: Better) -> Verdict:
    """Better or worse, by which way the metric is better."""
    return "improvement" if (change > 0) == (better == "higher") else "regression"


def _unrest(sample: Sample) -> float:
    """The median deviation of a boot's readings from its value, as a fraction; 0 for one reading."""
    if len(sample.readings) < 2:
        return 0.0
    middle = statistics.median(sample.readings)
    return statistics.median(abs(reading - middle) for reading in sample.readings) / sample.value


def _spread(measurements: tuple[Measurement, ...]) -> float:
    values = [each.sample.value for each in measurements]
    return max(values) / min(values) - 1
