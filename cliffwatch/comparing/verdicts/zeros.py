"""Verdicts on values without a ratio: zero on a side, or negative.

A change has a direction but no percentage.
"""

import numpy as np
from msgspec.structs import replace

from cliffwatch.columns import BootTable, Columns, Values
from cliffwatch.comparing.comparison import CHANGES, Comparison
from cliffwatch.comparing.rows import Row, Side
from cliffwatch.comparing.thresholds import direction
from cliffwatch.comparing.verdicts.digits import ONE_STEP
from cliffwatch.counting import count_noun

_OCTAVES = 60.0
"""Most octaves that values without a ratio are spread over.

Far more than any threshold, and small enough for arithmetic.
"""


def is_negative(row: Row) -> bool:
    """True if all values are negative: their sizes have ratios."""
    return _largest(row) < 0


def as_positive(row: Row) -> Row:
    """The row with positive values in the same order, so that rank tests give the same result.

    Negative values become their sizes, in the opposite order. Other values become powers of two, one octave
    for the smallest difference, so that no difference is below a threshold. Their logs keep the values'
    distances: a small drift beside zero stays small.
    """
    if is_negative(row):
        ours, theirs = -row.base.values, -row.head.values
    else:
        together = np.concatenate([row.base.values, row.head.values])
        together = together / max(
            float(np.abs(together).max()), np.finfo(float).tiny
        )  # the largest floats have no differences
        distances = together - together.min()
        steps = np.diff(np.unique(distances))
        widest, narrowest = float(steps.sum()), float(steps.min(initial=np.inf))
        octaves = (
            0.0 if not len(steps) else _OCTAVES if narrowest * _OCTAVES <= widest else widest / narrowest
        )
        sizes = np.exp2(distances / max(float(distances.max()), np.finfo(float).tiny) * octaves)
        ours, theirs = sizes[: row.base.boots], sizes[row.base.boots :]
    return row._replace(base=_with_values(row.base, ours), head=_with_values(row.head, theirs))


def _with_values(side: Side, values: Values) -> Side:
    boots: BootTable = side.columns.boots
    columns = Columns(
        boots=boots,
        keys=side.columns.keys[:1],
        starts=np.array([0, len(values)], dtype=np.intp),
        values=values,
        resolutions=np.zeros(len(values)),
        places=side.places,
    )
    return Side(columns, 0, len(values))


def judge_without_ratio(judged: Comparison, row: Row, alpha: float) -> Comparison:
    """The comparison of a noisy row, judged by the values of `as_positive`.

    `alpha` is the error of its report.
    """
    base, head = row.base.centre(), row.head.centre()
    assert base is not None
    assert head is not None
    known = replace(
        judged,
        base=base,
        head=head,
        change=None,
        ci_low=None,
        ci_high=None,
        mde=None,
        notes=row.notes,
        explained=lambda: (
            _words(row),
            f"p = {judged.p:.3g}, q = {judged.q:.3g} against {alpha:.0%}: {judged.verdict}",
        ),
    )
    unsure = judged.verdict not in CHANGES and (judged.q is None or judged.q > alpha)
    if unsure and is_negative(row) and judged.verdict == "unchanged":
        return known
    if unsure:
        few = judged.needs is not None or min(row.base.boots, row.head.boots) < 2
        reason = judged.reason if few else f"p = {judged.p:.2g} alone, q = {judged.q:.2g}"
        return replace(known, verdict="inconclusive", reason=f"{_words(row)}: {reason}", needs=None)
    return _judge_difference(known, row, f"q = {judged.q:.2g}")


def judge_exact_without_ratio(draft: Comparison, row: Row) -> Comparison:
    """The comparison of counted values: a change if all values of one side lie beyond those of the other."""
    ours, theirs = row.base.values, row.head.values
    known = replace(draft, explained=lambda: ("counted values", _words(row)))
    if ours.min() == ours.max() == theirs.min() == theirs.max():
        return replace(
            known,
            change=0.0,
            ci_low=0.0,
            ci_high=0.0,
            verdict="unchanged",
            reason="the same value in every boot",
        )
    if ours.max() < theirs.min() or theirs.max() < ours.min():
        return _judge_difference(known, row, "beyond what boots of one kernel differ by")
    return replace(known, verdict="inconclusive", reason=f"{_words(row)}: boots of one kernel differ as much")


def _judge_difference(known: Comparison, row: Row, why: str) -> Comparison:
    """Judges a real difference: a change if it is notable and more than a step of the printed digits."""
    base, head = known.base, known.head
    assert base is not None
    assert head is not None
    difference = head - base or float(row.head.values.mean() - row.base.values.mean())
    step = max(row.base.resolutions.max(initial=0.0), row.head.resolutions.max(initial=0.0))
    if abs(difference) <= step * (1 + 1e-9):
        reason = (
            f"{ONE_STEP} of {row.metric} is {step:g} {row.unit}, which can make as much of a difference:"
            " print more digits"
        )
        return replace(known, verdict="inconclusive", reason=reason, needs=None)
    if abs(difference) < known.threshold * max(abs(base), abs(head)):
        return replace(
            known,
            verdict="unchanged",
            reason=f"real, but below the threshold of {100 * known.threshold:.4g}%",
        )
    kind = (
        "of negative values"
        if is_negative(row)
        else "from or to zero"
        if not (base and head)
        else "across zero"
    )
    reason = f"{row.metric} {base:.6g} -> {head:.6g} {row.unit}: a change {kind} has no percentage; {why}"
    return replace(known, verdict=direction(difference, known.better), reason=reason)


def _words(row: Row) -> str:
    """Zeros of the row as text: `drops is 0 in 8 of 8 boots of base and in 5 of 8 of head`."""
    if _smallest(row) < 0:
        return f"{row.metric} has negative values"
    ours, theirs = (int((side.values == 0).sum()) for side in (row.base, row.head))
    return (
        f"{row.metric} is 0 in {ours} of {count_noun(row.base.boots, 'boot')} of base and in {theirs} of"
        f" {row.head.boots} of head"
    )


def _largest(row: Row) -> float:
    return float(max(row.base.values.max(initial=-np.inf), row.head.values.max(initial=-np.inf)))


def _smallest(row: Row) -> float:
    return float(min(row.base.values.min(initial=np.inf), row.head.values.min(initial=np.inf)))
