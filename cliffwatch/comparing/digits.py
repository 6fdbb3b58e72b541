"""Verdicts on noisy values that were printed with few digits: what rounding alone can make or hide is not known."""

from collections.abc import Callable
from dataclasses import replace

from cliffwatch.comparing.comparison import CHANGES, Comparison
from cliffwatch.comparing.ordering import likely
from cliffwatch.comparing.thresholds import ALPHA

ONE_STEP = "one step of the printed digits"

TWO_MODES = "two modes"
"""How the note on a row with two modes begins."""

_NOTHING = 1e-9
"""A fraction by which a difference of one step and one step may differ."""


def judge_digits(draft: Comparison, step: float, explained: Callable[[], tuple[str, ...]]) -> Comparison:
    """The row with the largest step of its printed digits in its interval, its detectable change and its verdict. `explained` are the
    steps to the verdict of the draft.

    Boots repeat the same rounding, so that no number of them makes up for a digit; where they spread over many steps it is a
    small part of their interval anyway.
    """
    if draft.change is None or step <= 0:
        return replace(draft, explained=explained)
    low = None if draft.ci_low is None else max(-1.0, draft.ci_low - step)
    high = None if draft.ci_high is None else draft.ci_high + step
    widened = replace(
        draft,
        ci_low=low,
        ci_high=high,
        mde=None if draft.mde is None else max(draft.mde, step),
        explained=lambda: (
            *explained(),
            f"{ONE_STEP} is {step:.4%}, which is in the interval and in the detectable change",
        ),
    )
    why = _in_doubt(widened, step)
    if why is None:
        return widened
    # Boots on both sides of a rounding are no two modes.
    notes = tuple(note for note in draft.notes if not note.startswith(TWO_MODES))
    return replace(widened, verdict="inconclusive", reason=why, needs=None, notes=notes)


def _in_doubt(row: Comparison, step: float) -> str | None:
    """Why the verdict does not stand, in words; None where it does."""
    assert row.change is not None
    known = row.ci_low is not None and row.ci_high is not None
    low, high = row.ci_low or 0.0, row.ci_high or 0.0
    threshold = f"{100 * row.threshold:.4g}%"
    if row.verdict in CHANGES and row.base and row.head and abs(row.head / row.base - 1) <= step + _NOTHING:
        return f"{ONE_STEP} is {step:.2%}, which can make as much of a difference: print more digits"
    if row.verdict == "unchanged":
        ruled_out = known and -row.threshold < low and high < row.threshold
        small = row.q is not None and row.q <= ALPHA and abs(row.change) + step < row.threshold
        if not ruled_out and not small:
            return f"{ONE_STEP} is {step:.2%}, which can hide a change of {threshold}: print more digits"
    if row.verdict == "inconclusive" and step >= row.threshold and not likely(row):
        return f"{ONE_STEP} is {step:.2%}, so that no number of boots shows a change of {threshold}: print more digits"
    return None
