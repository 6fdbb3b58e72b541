"""Rows that must not be judged: sides measured in different environments, too many failed boots, a drift between the arms."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from cliffwatch.catalogue.directions import is_timed
from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.digits import ONE_STEP
from cliffwatch.comparing.rows import Measurement, Row
from cliffwatch.comparing.thresholds import (
    DRIFT_P,
    FEWEST_ALIKE,
    LARGEST_RATIO,
    LAYOUT_P,
    MOST_DRIFTING,
    MOST_FAILED,
    MOVED_ALIKE,
)
from cliffwatch.counting import counted
from cliffwatch.samples import Arm, CaseKey
from cliffwatch.stats.noise.drifts import Drift, drifts_of, interleaved
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
    seen = next(_drifts([row]), None)
    if seen is None or seen.p > DRIFT_P or abs(math.expm1(seen.total)) < threshold:
        return draft
    words = f"the host drifted by {math.expm1(seen.total):+.1%} over the run (p = {seen.p:.1g})"
    if _took_turns([row]):
        return replace(draft, notes=(*draft.notes, f"{words}; the arms took turns, so it adds noise and no bias"))
    return replace(
        draft, verdict="invalid", reason=f"{words} and the arms did not take turns: measure them interleaved"
    )


def warnings_of_order(judged: Sequence[tuple[Row, Comparison]], *, one_run: bool) -> Iterator[str]:
    """What a reader must know first where the arms did not take turns: whatever drifts then lies between them like a change."""
    noisy = [
        (row, each) for row, each in judged if each.assume == "nothing" and each.change is not None and each.primary
    ]
    if not noisy or (one_run and _took_turns(row for row, _ in noisy)):
        return
    yield (
        "Nothing says that base and head took turns: a host that drifted between them looks like a change in every row."
        " Measure both in one plan: cliffwatch run --base REV --head REV."
    )
    yield from _moved_alike([each for _, each in noisy])
    yield from _drifting([row for row, _ in noisy])


def _took_turns(rows: Iterable[Row]) -> bool:
    places = {(each.boot.index, arm) for row in rows for arm, side in enumerate((row.base, row.head)) for each in side}
    order, arms = (np.array(column, dtype=float) for column in zip(*sorted(places), strict=True))
    return interleaved(order, arms)


def _moved_alike(rows: Sequence[Comparison]) -> Iterator[str]:
    """Of times and rates nearly all worse, or better, and the middle half of them by a similar size."""
    rows = [each for each in rows if is_timed(each.unit) and not each.reason.startswith(ONE_STEP)]
    changes = [(each.change, each.better) for each in rows if each.change is not None and each.change > -1]
    worse = np.array([math.log1p(change) * (-1 if better == "higher" else 1) for change, better in changes])
    alike = max(int((worse > 0).sum()), int((worse < 0).sum()))
    if len(worse) < FEWEST_ALIKE or alike < MOVED_ALIKE * len(worse):
        return
    low, middle, high = np.quantile(worse, (0.25, 0.5, 0.75))
    if high - low <= abs(middle) and abs(math.expm1(middle)) >= min(each.threshold for each in rows):
        size = f"{100 * abs(math.expm1(middle)):.2g} %"
        yield f"{alike} of {counted(len(worse), 'time or rate', 'times and rates')} moved the same way by about {size}: a drift of the host looks like this."


def _drifting(rows: Sequence[Row]) -> Iterator[str]:
    timed = [row for row in rows if is_timed(row.unit)]
    seen = [each for each in _drifts(timed) if each is not None and each.p <= DRIFT_P]
    totals = [abs(math.expm1(each.total)) for each in seen]
    if len(totals) > MOST_DRIFTING * len(timed):
        size = f"{100 * float(np.median(totals)):.2g} %"
        yield f"{len(totals)} of {counted(len(timed), 'time or rate', 'times and rates')} drift by about {size} while they are measured: the host was not steady."


def _drifts(rows: Sequence[Row]) -> Iterator[Drift | None]:
    """By the order of the boots of each arm; rows of the same boots at once."""
    of_boots: dict[tuple[tuple[int, int], ...], list[list[float]]] = {}
    for row in rows:
        places = tuple((each.boot.index, arm) for arm, side in enumerate((row.base, row.head)) for each in side)
        values = [each.sample.value for each in row.both()]
        if min(values) > 0:
            of_boots.setdefault(places, []).append(values)
    for places, table in of_boots.items():
        order, arms = (np.array(column, dtype=float) for column in zip(*places, strict=True))
        yield from drifts_of(np.log(table), order, arms)


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
