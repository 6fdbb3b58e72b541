"""Verdicts on counted values.

A difference beyond their repeatability is real; the threshold decides if it is reported.
"""

import statistics

from msgspec.structs import replace

from cliffwatch.columns import Readings
from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.rows import Row, Side
from cliffwatch.comparing.thresholds import direction
from cliffwatch.comparing.verdicts.digits import ONE_STEP
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.parsers.printed_digits import TRUNCATED_UNITS
from cliffwatch.samples import Better


def judge_exact(draft: Comparison, row: Row, threshold: float) -> Comparison:
    """Judges counted values.

    Equal kernels give equal values, within their repeatability and the printed digits.

    Repeatability is known, or observed as the spread between boots of a kernel and as the deviation of
    readings from their median within a boot: sometimes another task runs in the guest during a reading.
    """
    assert draft.base is not None
    assert draft.head is not None
    change = draft.head / draft.base - 1
    sources = {
        "the repeatability known of it": row.traits.repeatability,
        "boots of one kernel that differ": max(_spread(row.base), _spread(row.head)),
        "readings that differ within a boot": max(_mad(row.base), _mad(row.head)),
        ONE_STEP: max(row.base.largest_step(), row.head.largest_step()),
    }
    if row.unit in TRUNCATED_UNITS:
        # Of a number that is always cut no run is long enough to show a step: the row says what it can.
        threshold = max(threshold, 2 * sources[ONE_STEP])
    widest = max(sources, key=lambda source: sources[source])
    uncertainty = sources[widest]
    noisier = _noisier_than_known(row)
    verdict, reason = _verdict(change, uncertainty, widest, threshold, row.traits.better)
    return replace(
        draft,
        threshold=threshold,
        change=change,
        ci_low=change - uncertainty,
        ci_high=change + uncertainty,
        mde=max(uncertainty, threshold),
        verdict=verdict,
        reason=reason,
        notes=(*draft.notes, *noisier),
        explained=lambda: (
            f"counted values: medians {draft.base:.6g} and {draft.head:.6g} {row.unit}, change {change:+.4%}",
            f"uncertain by {uncertainty:.4%}, the largest of: "
            + ", ".join(f"{name} {size:.4%}" for name, size in sources.items()),
            f"threshold {100 * threshold:.4g}%: {verdict}, {reason}",
        ),
    )


def _noisier_than_known(row: Row) -> tuple[str, ...]:
    """A note if boots of one kernel differ by more than the known repeatability plus one printed step.

    None if the repeatability is unknown, as for a file's own metrics.
    """
    if not row.traits.repeatability:
        return ()
    known = row.traits.repeatability + max(row.base.largest_step(), row.head.largest_step())
    spread = max(_spread(row.base), _spread(row.head))
    if spread <= known:
        return ()
    return (f"boots of one kernel differ by {spread:.2%}, more than the {known:.2%} expected of it",)


def _verdict(
    change: float, uncertainty: float, widest: str, threshold: float, better: Better | None
) -> tuple[Verdict, str]:
    if uncertainty > threshold and abs(change) - uncertainty < threshold:
        return "inconclusive", f"{widest}: up to {uncertainty:.2%}; measure longer"
    if abs(change) <= uncertainty:
        return "unchanged", f"within the repeatability of {uncertainty:.3%}"
    if abs(change) < threshold:
        return "unchanged", f"real, but below the threshold of {100 * threshold:.4g}%"
    return direction(change, better), f"beyond the repeatability of {uncertainty:.3%}"


def _mad(side: Side) -> float:
    """The largest median absolute deviation of a boot's readings, as a fraction; 0 for single readings."""
    return max(map(_deviation, side.readings, side.values.tolist()), default=0.0)


def _deviation(readings: Readings, value: float) -> float:
    if len(readings) < 2:
        return 0.0
    middle = statistics.median(readings)
    return statistics.median(abs(reading - middle) for reading in readings) / value


def _spread(side: Side) -> float:
    values: list[float] = side.values.tolist()
    return max(values) / min(values) - 1
