"""Verdicts on noisy values printed with few digits: allows for changes that rounding can cause or hide."""

import math
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from cliffwatch.comparing.comparison import CHANGES, Comparison
from cliffwatch.comparing.ordering import is_likely
from cliffwatch.comparing.thresholds import ALPHA

ONE_STEP = "one step of the printed digits"

TWO_MODES = "two modes"
"""First words of the note on a row with two modes."""

_NOTHING = 1e-9
"""Fractions that differ by less are equal."""


def judge_digits(judged: Comparison, step: float, explained: Callable[[], tuple[str, ...]]) -> Comparison:
    """Adds one step of the printed digits to the interval, the detectable change and the verdict.

    `step` is the largest step, a fraction. `explained` gives the steps to the verdict without it.

    Boots repeat the same rounding, so no number of boots makes up for a digit. If the boots spread over many
    steps, a step is a small part of their interval anyway.
    """
    if step <= 0:
        return replace(judged, explained=explained)
    low, high, mde = judged.ci_low, judged.ci_high, judged.mde
    lower, upper = _reach(judged)
    widened = replace(
        judged,
        ci_low=None if low is None else max(lower, low - step),
        ci_high=None if high is None else min(upper, high + step),
        mde=None if mde is None else max(mde, step),
        explained=partial(_with_step, explained, step),
    )
    why = _in_doubt(widened, step)
    if why is None:
        return widened
    # Boots on both sides of a rounding are no two modes.
    notes = tuple(note for note in widened.notes if not note.startswith(TWO_MODES))
    return replace(widened, verdict="inconclusive", reason=why, needs=None, notes=notes)


def _reach(judged: Comparison) -> tuple[float, float]:
    """Returns the bounds that a step may widen the interval to.

    A published change keeps its direction, so its interval does not cross zero. `_in_doubt` takes back a
    change that a step could have made.
    """
    published = judged.verdict in CHANGES
    lower = 0.0 if published and judged.ci_low is not None and judged.ci_low >= 0 else -1.0
    upper = 0.0 if published and judged.ci_high is not None and judged.ci_high <= 0 else math.inf
    return lower, upper


def _with_step(explained: Callable[[], tuple[str, ...]], step: float) -> tuple[str, ...]:
    return (*explained(), f"{ONE_STEP} is {step:.4%}, which is in the interval and in the detectable change")


def _in_doubt(row: Comparison, step: float) -> str | None:
    """Why the verdict does not stand; None if it does."""
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
    if row.verdict == "inconclusive" and step >= row.threshold and not is_likely(row):
        return (
            f"{ONE_STEP} is {step:.2%}, so that no number of boots shows a change of {threshold}: print more"
            " digits"
        )
    return None
