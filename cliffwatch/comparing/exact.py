"""Verdicts on counted values: any difference beyond their repeatability is real, the notable alone decides what is told."""

from dataclasses import replace

from cliffwatch.comparing.comparison import Comparison, Verdict
from cliffwatch.comparing.rows import Measurement, Row
from cliffwatch.samples import Better

NOTABLE = 0.002


def judge_exact(found: Comparison, row: Row, notable: float) -> Comparison:
    """Equal kernels give equal values, up to what is known and seen of their repeatability and the digits printed."""
    assert found.base is not None
    assert found.head is not None
    change = found.head / found.base - 1
    known, seen = row.traits.repeatability, max(_spread(row.base), _spread(row.head))
    digits = max(each.sample.resolution / each.sample.value for each in row.both())
    blur = max(known, seen, digits)
    verdict, reason = _verdict(change, blur, notable, row.traits.better)
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
            f"repeatability {blur:.4%}: known {known:.4%}, seen between boots {seen:.4%}, a printed digit {digits:.4%}",
            f"notable from {notable:.2%} on: {verdict}, {reason}",
        ),
    )


def _verdict(change: float, blur: float, notable: float, better: Better) -> tuple[Verdict, str]:
    if abs(change) <= blur:
        return "unchanged", f"within the repeatability of {blur:.3%}"
    if abs(change) < notable:
        return "unchanged", f"real, but below the notable {notable:.2%}"
    if abs(change) - blur < notable and blur > notable:
        return "inconclusive", f"one step of the printed digits is {blur:.2%}: measure longer"
    return direction(change, better), f"beyond the repeatability of {blur:.3%}"


def direction(change: float, better: Better) -> Verdict:
    """Better or worse, by which way the metric is better."""
    return "improvement" if (change > 0) == (better == "higher") else "regression"


def _spread(measurements: tuple[Measurement, ...]) -> float:
    values = [each.sample.value for each in measurements]
    return max(values) / min(values) - 1
