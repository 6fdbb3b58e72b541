"""Rows that must not be judged: sides measured in different environments, too many failed boots, a drift between the arms."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.rows import Measurement, Row
from cliffwatch.comparing.thresholds import DRIFT_P, LARGEST_RATIO, LAYOUT_P, MOST_FAILED
from cliffwatch.counting import counted
from cliffwatch.samples import Arm, CaseKey
from cliffwatch.stats.noise.drifts import drift, interleaved
from cliffwatch.stats.noise.layouts import layout_spread

_SHARED = ("failed", "panic", "timeout")


def different_environments(base: Arm, head: Arm) -> str | None:
    """What differs of the two sides' environments besides the kernel; None where nothing known does."""
    named = base.environment.keys() & head.environment.keys()
    differing = sorted(name for name in named if base.environment[name] != head.environment[name])
    if not differing:
        return None
    shown = "; ".join(f"{name}: {base.environment[name]} and {head.environment[name]}" for name in differing)
    return f"measured in different environments: {shown}"


def too_many_failed(base: Arm, head: Arm) -> dict[CaseKey, str]:
    """Cases that failed in so many boots that the others are no fair sample of them, and the words for it."""
    reasons: dict[CaseKey, str] = {}
    for arm in (base, head):
        outcomes = [outcome for boot in arm.boots for outcome in boot.outcomes]
        failed = _failures(arm)
        ended = Counter(outcome.case for outcome in outcomes if outcome.case in failed) if failed else {}
        for case, count in failed.items():
            if count > MOST_FAILED * ended[case]:
                reasons.setdefault(case, f"{arm.name} failed in {count} of {counted(ended[case], 'boot')}")
    return reasons


def without_failed_boots(rows: Iterable[Row], base: Arm, head: Arm) -> tuple[Row, ...]:
    """Rows without boots that read 0 or no number, where they are so few of a side that the others are a fair sample of it.

    A benchmark that reads 0 once did not run that time; a metric that is 0 in most boots is one. Boots that failed outright count too.
    """
    base_failed, head_failed = _failures(base), _failures(head)
    return tuple(
        row if all(map(_has_value, row.both())) else _fair(row, base_failed[row.case], head_failed[row.case])
        for row in rows
    )


def _failures(arm: Arm) -> Counter[CaseKey]:
    return Counter(each.case for boot in arm.boots for each in boot.outcomes if each.status in _SHARED)


def _fair(row: Row, base_failed: int, head_failed: int) -> Row:
    sides, notes = [], list(row.notes)
    for name, side, failed in (("base", row.base, base_failed), ("head", row.head, head_failed)):
        odd = [each for each in side if not _has_value(each)]
        few = len(odd) + failed <= MOST_FAILED * (len(side) + failed)
        sides.append(tuple(each for each in side if _has_value(each)) if few else side)
        if odd and few:
            what = "0" if all(each.sample.value == 0 for each in odd) else "no number"
            are = "is" if len(odd) == 1 else "are"
            notes.append(f"{len(odd)} of {counted(len(side), 'boot')} of {name} read {what} and {are} left out")
    return replace(row, base=sides[0], head=sides[1], notes=tuple(notes))


def _has_value(each: Measurement) -> bool:
    return math.isfinite(each.sample.value) and each.sample.value != 0


def odd_values(draft: Comparison, row: Row) -> Comparison | None:
    """The verdict on values of which no ratio can be taken; None where one can."""
    values = [each.sample.value for each in row.both()]
    if not all(map(math.isfinite, values)) or draft.base is None or draft.head is None:
        return replace(draft, base=None, head=None, verdict="invalid", reason="a value that is no finite number")
    if draft.base == 0 and draft.head == 0:
        return replace(draft, change=0.0, ci_low=0.0, ci_high=0.0, verdict="unchanged", reason="zero on both sides")
    for name, centre, side in (("base", draft.base, row.base), ("head", draft.head, row.head)):
        zeros = sum(each.sample.value == 0 for each in side)
        if centre and zeros:
            reason = f"{name} read 0 in {zeros} of {counted(len(side), 'boot')}: the others are a selection"
            return replace(draft, verdict="invalid", reason=reason)
    if min(values) <= 0:
        return replace(draft, verdict="inconclusive", reason="a zero or negative value has no relative change")
    if max(values) > LARGEST_RATIO * min(values):
        reason = f"values {min(values):.3g} and {max(values):.3g} are not of one thing measured"
        return replace(draft, verdict="invalid", reason=reason)
    return None


def judge_drift(draft: Comparison, row: Row, threshold: float) -> Comparison:
    """Says where a host drifted while it measured; arms that did not take turns are then not to be compared."""
    ordered = [
        (each.boot.index, arm, each.sample.value) for arm, side in enumerate((row.base, row.head)) for each in side
    ]
    if min(value for _, _, value in ordered) <= 0:
        return draft
    order, arms, values = (np.array(column, dtype=float) for column in zip(*ordered, strict=True))
    seen = drift(np.log(values), order, arms)
    if seen is None or seen.p > DRIFT_P or abs(math.expm1(seen.total)) < threshold:
        return draft
    words = f"the host drifted by {math.expm1(seen.total):+.1%} over the run (p = {seen.p:.1g})"
    if interleaved(order, arms):
        return replace(draft, notes=(*draft.notes, f"{words}; the arms took turns, so it adds noise and no bias"))
    return replace(
        draft, verdict="invalid", reason=f"{words} and the arms did not take turns: measure them interleaved"
    )


def judge_layout(draft: Comparison, row: Row) -> Comparison:
    """Says where a kernel was measured in several layouts and they alone could make a change of this size."""
    if draft.change is None or draft.change <= -1:
        return draft
    layouts = [_by_layout(side) for side in (row.base, row.head)]
    seen = layout_spread(list(layouts[0].values()))
    if seen is None or seen.p > LAYOUT_P or not seen.covers(math.log1p(draft.change), *map(len, layouts)):
        return draft
    words = f"layouts of base spread by {seen.layout:.1%} (boots of one by {seen.boot:.1%}): the change may be luck of placement"
    return replace(draft, notes=(*draft.notes, words))


def _by_layout(side: tuple[Measurement, ...]) -> dict[str, list[float]]:
    """Logs of the boots whose layout is known, by layout."""
    layouts: dict[str, list[float]] = {}
    for each in side:
        if each.boot.layout is not None:
            layouts.setdefault(each.boot.layout, []).append(math.log(each.sample.value))
    return layouts
