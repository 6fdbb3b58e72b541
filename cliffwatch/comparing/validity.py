"""Rows that must not be judged: sides measured in different surroundings, too many failed boots, a drift between the arms."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.rows import Measurement, Row
from cliffwatch.counting import counted
from cliffwatch.samples import Arm, CaseKey
from cliffwatch.stats.noise.drifts import SURE, drift, interleaved
from cliffwatch.stats.noise.layouts import layout_spread

MOST_FAILED = 0.2
"""The share of boots of an arm in which a case may fail before what is left is a selection."""

SURE_OF_LAYOUT = 0.01

LARGEST_RATIO = 1e12
"""Between two boots of one row; beyond it something else than a benchmark was read."""

_SHARED = ("failed", "panic", "timeout")


def different_surroundings(base: Arm, head: Arm) -> str | None:
    """What differs of the two sides' environments besides the kernel; None where nothing known does."""
    named = base.environment.keys() & head.environment.keys()
    differing = sorted(name for name in named if base.environment[name] != head.environment[name])
    if not differing:
        return None
    shown = "; ".join(f"{name}: {base.environment[name]} and {head.environment[name]}" for name in differing)
    return f"measured in different surroundings: {shown}"


def too_many_failed(base: Arm, head: Arm) -> dict[CaseKey, str]:
    """Cases that failed in so many boots that the others are no fair sample of them, and the words for it."""
    found: dict[CaseKey, str] = {}
    for arm in (base, head):
        outcomes = [outcome for boot in arm.boots for outcome in boot.outcomes]
        failed = Counter(outcome.case for outcome in outcomes if outcome.status in _SHARED)
        ended = Counter(outcome.case for outcome in outcomes if outcome.case in failed) if failed else {}
        for case, count in failed.items():
            if count > MOST_FAILED * ended[case]:
                found.setdefault(case, f"{arm.name} failed in {count} of {counted(ended[case], 'boot')}")
    return found


def odd_values(found: Comparison, row: Row) -> Comparison | None:
    """The verdict on values of which no ratio can be taken; None where one can."""
    values = [each.sample.value for each in row.both()]
    if not all(map(math.isfinite, values)) or found.base is None or found.head is None:
        return replace(found, base=None, head=None, verdict="invalid", reason="a value that is no finite number")
    if found.base == 0 and found.head == 0:
        return replace(found, change=0.0, ci_low=0.0, ci_high=0.0, verdict="unchanged", reason="zero on both sides")
    if min(values) <= 0:
        return replace(found, verdict="inconclusive", reason="a zero or negative value has no relative change")
    if max(values) > LARGEST_RATIO * min(values):
        reason = f"values {min(values):.3g} and {max(values):.3g} are not of one thing measured"
        return replace(found, verdict="invalid", reason=reason)
    return None


def judge_drift(found: Comparison, row: Row, notable: float) -> Comparison:
    """Says where a host drifted while it measured; arms that did not take turns are then not to be compared."""
    ordered = [
        (each.boot.index, arm, each.sample.value) for arm, side in enumerate((row.base, row.head)) for each in side
    ]
    if min(value for _, _, value in ordered) <= 0:
        return found
    order, arms, values = (np.array(column, dtype=float) for column in zip(*ordered, strict=True))
    seen = drift(np.log(values), order, arms)
    if seen is None or seen.p > SURE or abs(math.expm1(seen.total)) < notable:
        return found
    words = f"the host drifted by {math.expm1(seen.total):+.1%} over the run (p = {seen.p:.1g})"
    if interleaved(order, arms):
        return replace(found, notes=(*found.notes, f"{words}; the arms took turns, so it blurs and does not bend"))
    return replace(
        found, verdict="invalid", reason=f"{words} and the arms did not take turns: measure them interleaved"
    )


def judge_layout(found: Comparison, row: Row) -> Comparison:
    """Says where a kernel was measured in several layouts and they alone could make a change of this size."""
    if found.change is None or found.change <= -1:
        return found
    layouts = [_by_layout(side) for side in (row.base, row.head)]
    seen = layout_spread(list(layouts[0].values()))
    if seen is None or seen.p > SURE_OF_LAYOUT or not seen.covers(math.log1p(found.change), *map(len, layouts)):
        return found
    words = f"layouts of base spread by {seen.layout:.1%} (boots of one by {seen.boot:.1%}): the change may be luck of placement"
    return replace(found, notes=(*found.notes, words))


def _by_layout(side: tuple[Measurement, ...]) -> dict[str, list[float]]:
    """Logs of the boots whose layout is known, by layout."""
    found: dict[str, list[float]] = {}
    for each in side:
        if each.boot.layout is not None:
            found.setdefault(each.boot.layout, []).append(math.log(each.sample.value))
    return found
