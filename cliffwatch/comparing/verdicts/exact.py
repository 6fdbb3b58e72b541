"""Verdicts on counted values: any difference beyond their repeatability is real, the threshold alone decides
what is reported.
"""

import statistics
from dataclasses import replace

from cliffwatch.columns import Readings
from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.rows import Row, Side
from cliffwatch.comparing.thresholds import direction
from cliffwatch.comparing.verdicts.digits import ONE_STEP
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.parsers.printed_digits import CUT
from cliffwatch.samples import Better


def judge_exact(draft: Comparison, row: Row, threshold: float) -> Comparison:
    """Equal kernels give equal values, up to what is known and seen of their repeatability and the digits
    printed.

    What is seen is the spread between boots of a kernel, and within a boot how far its readings lie from
    their median: now and then something else runs in the guest for one of them.
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
    if row.unit in CUT:
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
    """A note where boots of one kernel differ by more than is known of the case and one printed step; nothing
    of a file's own word.
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
    """The largest of the boots' median deviations of readings from the middle one, as a fraction; 0 of boots
    with one reading.
    """
    return max(map(_deviation, side.readings, side.values.tolist()), default=0.0)


def _deviation(readings: Readings, value: float) -> float:
    if len(readings) < 2:
        return 0.0
    middle = statistics.median(readings)
    return statistics.median(abs(reading - middle) for reading in readings) / value


def _spread(side: Side) -> float:
    values: list[float] = side.values.tolist()
    return max(values) / min(values) - 1
