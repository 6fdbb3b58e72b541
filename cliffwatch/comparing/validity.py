"""Rows that must not be judged: sides measured in different environments, too many failed boots, a drift between the arms."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cliffwatch.catalogue.directions import is_timed
from cliffwatch.columns import bad_outcomes_of, outcomes_of
from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.rows import Row, Side, blocks_of
from cliffwatch.comparing.thresholds import (
    DRIFT_P,
    FEWEST_ALIKE,
    LARGEST_RATIO,
    LAYOUT_P,
    MOST_DRIFTING,
    MOST_FAILED,
    MOVED_ALIKE,
)
from cliffwatch.comparing.verdicts.digits import ONE_STEP
from cliffwatch.counting import counted
from cliffwatch.samples import Arm, CaseKey
from cliffwatch.stats.noise.drifts import Drift, drifts_of, interleaved
from cliffwatch.stats.noise.layouts import layout_spread

_SHARED = ("failed", "panic", "timeout")


def different_environments(base: Arm, head: Arm) -> str | None:
    """What differs of the two sides' environments besides the kernel and what was meant to; None where nothing known does."""
    named = (base.environment.keys() & head.environment.keys()) - base.meant - head.meant
    differing = sorted(name for name in named if base.environment[name] != head.environment[name])
    if not differing:
        return None
    shown = "; ".join(f"{name}: {base.environment[name]} and {head.environment[name]}" for name in differing)
    return f"measured in different environments: {shown}"


def too_many_failed(base: Arm, head: Arm) -> dict[CaseKey, str]:
    """Cases that failed in so many boots that the others are no fair sample of them, and the words for it."""
    reasons: dict[CaseKey, str] = {}
    for arm in (base, head):
        failed = _failures(arm)
        ended = Counter(outcome.case for outcome in outcomes_of(arm.boots) if outcome.case in failed) if failed else {}
        for case, count in failed.items():
            if count > MOST_FAILED * ended[case]:
                reasons.setdefault(case, f"{arm.name} failed in {count} of {counted(ended[case], 'boot')}")
    return reasons


def without_failed_boots(rows: Sequence[Row], base: Arm, head: Arm) -> Sequence[Row]:
    """Rows without boots that read 0 or no number, where they are so few of a side that the others are a fair sample of it.

    A benchmark that reads 0 once did not run that time; a metric that is 0 in most boots is one. Boots that failed outright count too.
    """
    ours, our_notes = _fair("base", base, rows, [row.base for row in rows])
    theirs, their_notes = _fair("head", head, rows, [row.head for row in rows])
    if not our_notes and not their_notes:
        return rows
    return [
        row._replace(
            base=mine, head=other, notes=(*row.notes, *our_notes.get(number, ()), *their_notes.get(number, ()))
        )
        for number, (row, mine, other) in enumerate(zip(rows, ours, theirs, strict=True))
    ]


def _failures(arm: Arm) -> Counter[CaseKey]:
    return Counter(each.case for each in bad_outcomes_of(arm.boots) if each.status in _SHARED)


def _fair(
    name: str, arm: Arm, rows: Sequence[Row], sides: Sequence[Side]
) -> tuple[Sequence[Side], dict[int, tuple[str, ...]]]:
    """One side of all rows, and by the number of a row what is left out of it."""
    if not sides:
        return sides, {}
    columns = sides[0].columns
    odd = ~np.isfinite(columns.values) | (columns.values == 0)
    if not odd.any():
        return sides, {}
    chosen, failures, notes = np.ones(len(odd), dtype=bool), _failures(arm), dict[int, tuple[str, ...]]()
    for number, (row, side) in enumerate(zip(rows, sides, strict=True)):
        here, failed = odd[side.first : side.last], failures[row.case]
        count = int(here.sum())
        if count and count + failed <= MOST_FAILED * (side.boots + failed):
            what = "0" if (side.values[here] == 0).all() else "no number"
            are = "is" if count == 1 else "are"
            notes[number] = (f"{count} of {counted(side.boots, 'boot')} of {name} read {what} and {are} left out",)
            chosen[side.first : side.last] = ~here
    kept, before = columns.kept(chosen), np.concatenate([[0], np.cumsum(chosen)]).tolist()
    return [Side(kept, before[side.first], before[side.last]) for side in sides], notes


def fit_for_ratios(rows: Sequence[Row]) -> list[bool]:
    """Whether all values of a row, of both sides, are positive and of one thing measured: `odd_values` says what to do with the others."""
    least, most = np.full(len(rows), np.inf), np.full(len(rows), -np.inf)
    for sides in ([row.base for row in rows], [row.head for row in rows]):
        for block in blocks_of(sides):
            values = sides[0].columns.values[block.places]
            least[block.numbers] = np.minimum(least[block.numbers], values.min(axis=1, initial=np.inf))
            most[block.numbers] = np.maximum(most[block.numbers], values.max(axis=1, initial=-np.inf))
    with np.errstate(invalid="ignore", over="ignore"):
        fit: list[bool] = ((least > 0) & (most < np.inf) & (most <= LARGEST_RATIO * least)).tolist()
    return fit


def odd_values(draft: Comparison, row: Row) -> Comparison | None:
    """The verdict on values of which no ratio can be taken; None where one can."""
    values = [*row.base.values.tolist(), *row.head.values.tolist()]
    if not all(map(math.isfinite, values)) or draft.base is None or draft.head is None:
        return replace(draft, base=None, head=None, verdict="invalid", reason="a value that is no finite number")
    if draft.base == 0 and draft.head == 0:
        return replace(draft, change=0.0, ci_low=0.0, ci_high=0.0, verdict="unchanged", reason="zero on both sides")
    for name, centre, side in (("base", draft.base, row.base), ("head", draft.head, row.head)):
        zeros = int((side.values == 0).sum())
        if centre and zeros:
            reason = f"{name} read 0 in {zeros} of {counted(side.boots, 'boot')}: the others are a selection"
            return replace(draft, verdict="invalid", reason=reason)
    if min(values) <= 0:
        return replace(draft, verdict="inconclusive", reason="a zero or negative value has no relative change")
    if max(values) > LARGEST_RATIO * min(values):
        reason = f"values {min(values):.3g} and {max(values):.3g} are not of one thing measured"
        return replace(draft, verdict="invalid", reason=reason)
    return None


def judge_drift(draft: Comparison, row: Row, seen: Drift | None, threshold: float) -> Comparison:
    """Says where a host drifted while it measured; arms that did not take turns are then not to be compared."""
    if seen is None or abs(math.expm1(seen.total)) < threshold:
        return draft
    words = f"the host drifted by {math.expm1(seen.total):+.1%} over the run (p = {seen.p:.1g})"
    if _took_turns([row]):
        return replace(draft, notes=(*draft.notes, f"{words}; the arms took turns, so it adds noise and no bias"))
    return replace(
        draft, verdict="invalid", reason=f"{words} and the arms did not take turns: measure them interleaved"
    )


def warnings_of_host(base: Arm, head: Arm) -> Iterator[str]:
    """That a side was measured in walltime on a host that is no bench host, and why it is none."""
    yield from host_warning((*base.host_faults, *head.host_faults))


def host_warning(faults: Iterable[str]) -> tuple[str, ...]:
    """The sentence about a host that has these faults; none if it has none."""
    shown = "; ".join(dict.fromkeys(faults))
    words = (
        f"Measured on a host that is no bench host ({shown}): noise hides small changes, and rows may stay inconclusive."
        " `cliffwatch doctor --mode walltime` shows how to put it right."
    )
    return (words,) if shown else ()


def warnings_of_order(judged: Sequence[tuple[Row, Comparison]], *, one_run: bool) -> Iterator[str]:
    """What a reader must know first where the arms did not take turns: whatever drifts then lies between them like a change."""
    noisy = [
        (row, each) for row, each in judged if each.assume == "nothing" and each.change is not None and each.primary
    ]
    if not noisy or (one_run and _took_turns([row for row, _ in noisy])):
        return
    yield (
        "Nothing says that base and head took turns: a host that drifted between them looks like a change in every row."
        " Measure both in one plan: cliffwatch run --base REV --head REV."
    )
    yield from _moved_alike([each for _, each in noisy])
    yield from _drifting([row for row, _ in noisy])


def _took_turns(rows: Sequence[Row]) -> bool:
    positions = [_positions([row.base for row in rows]), _positions([row.head for row in rows])]
    order = np.concatenate(positions).astype(float)
    return interleaved(order, np.repeat([0.0, 1.0], [len(each) for each in positions]))


def _positions(sides: Sequence[Side]) -> NDArray[np.int_]:
    """Of the boots of an arm that have a value in any of its sides, each once."""
    boots = sides[0].columns.boots.index
    seen = np.zeros(len(boots), dtype=bool)
    for block in blocks_of(sides):
        seen[sides[0].columns.places[block.places]] = True
    return np.array(sorted(set(boots[seen].tolist())), dtype=int)


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
    totals = [abs(math.expm1(each.total)) for each in drifts_of_rows(timed) if each is not None]
    if len(totals) > MOST_DRIFTING * len(timed):
        size = f"{100 * float(np.median(totals)):.2g} %"
        yield f"{len(totals)} of {counted(len(timed), 'time or rate', 'times and rates')} drift by about {size} while they are measured: the host was not steady."


def drifts_of_rows(rows: Sequence[Row]) -> list[Drift | None]:
    """Of each row by the order of the boots of each arm, rows of the same boots at once; None where chance makes as much of a drift."""
    found: list[Drift | None] = [None] * len(rows)
    of_boots: dict[bytes, list[int]] = {}
    for number, row in enumerate(rows):
        of_boots.setdefault(row.base.places.tobytes() + b"/" + row.head.places.tobytes(), []).append(number)
    for numbers in of_boots.values():
        sides = [
            (rows[numbers[0]].base, [rows[number].base for number in numbers]),
            (rows[numbers[0]].head, [rows[number].head for number in numbers]),
        ]
        tables = [side.columns.values[next(blocks_of(group)).places] for side, group in sides]
        positive = np.flatnonzero((np.concatenate(tables, axis=1) > 0).all(axis=1))
        order = np.concatenate([side.columns.boots.index[side.places] for side, _ in sides]).astype(float)
        arms = np.repeat([0.0, 1.0], [side.boots for side, _ in sides])
        logs = np.log(np.concatenate(tables, axis=1)[positive])
        for place, drift in zip(positive.tolist(), drifts_of(logs, order, arms, p_at_most=DRIFT_P), strict=True):
            found[numbers[place]] = drift
    return found


def judge_layout(draft: Comparison, row: Row) -> Comparison:
    """Says where a kernel was measured in several layouts and they alone could make a change of this size."""
    if draft.change is None or draft.change <= -1 or not row.base.columns.boots.layouts:
        return draft
    layouts = [_by_layout(side) for side in (row.base, row.head)]
    seen = layout_spread(list(layouts[0].values()))
    if seen is None or seen.p > LAYOUT_P or not seen.covers(math.log1p(draft.change), *map(len, layouts)):
        return draft
    words = f"layouts of base spread by {seen.layout:.1%} (boots of one by {seen.boot:.1%}): the change may be luck of placement"
    return replace(draft, notes=(*draft.notes, words))


def _by_layout(side: Side) -> dict[str, list[float]]:
    """Logs of the boots whose layout is known, by layout."""
    known = side.columns.boots.layouts
    layouts: dict[str, list[float]] = {}
    for place, value in zip(side.places.tolist(), side.values.tolist(), strict=True):
        layout = known[place] if known else None
        if layout is not None:
            layouts.setdefault(layout, []).append(math.log(value))
    return layouts
