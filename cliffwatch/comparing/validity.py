"""Rows that must not be judged: different environments, too many failed boots.

Also notes on drift.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from cliffwatch.catalogue.directions import is_timed
from cliffwatch.columns import bad_outcomes_of, outcomes_of
from cliffwatch.comparing.comparison import LESS_LOOP, Comparison
from cliffwatch.comparing.rows import Row, Side, blocks_of
from cliffwatch.comparing.thresholds import DRIFT_P, LARGEST_RATIO, MOST_FAILED
from cliffwatch.counting import count_noun, range_words
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.samples import RESULT, Arm, CaseKey, is_rehearsal
from cliffwatch.stats.noise.drifts import Drift, drifts_of

_SHARED = ("failed", "panic", "timeout", "refused")


Unfair = tuple[Verdict, str]
"""Verdict and reason of a row whose sides cannot be compared."""


def unfair_rows(rows: Sequence[Row], base: Arm, head: Arm) -> list[Unfair | None]:
    """For each row: the verdict and the reason if its sides cannot be compared; else None."""
    differing, selected = different_environments(base, head), too_many_failed(base, head)
    results = different_results(rows)

    def unfair(row: Row) -> Unfair | None:
        invalid = differing or results.get(row.case)
        if invalid is not None:
            return "invalid", invalid
        reason = selected.get(row.case) or too_many_lost(row, base, head)
        return None if reason is None else ("failed", reason)

    return [unfair(row) for row in rows]


def different_environments(base: Arm, head: Arm) -> str | None:
    """Differences of the sides' environments, apart from the kernel and declared ones.

    None if none is known.
    """
    named = (base.environment.keys() & head.environment.keys()) - base.meant - head.meant
    differing = sorted(name for name in named if base.environment[name] != head.environment[name])
    if not differing:
        return None
    shown = "; ".join(f"{name}: {base.environment[name]} and {head.environment[name]}" for name in differing)
    return f"measured in different environments: {shown}"


def too_many_failed(base: Arm, head: Arm) -> dict[CaseKey, str]:
    """The reason for each case that failed in so many boots that the rest is no fair sample."""
    reasons: dict[CaseKey, str] = {}
    for name, arm in (("base", base), ("head", head)):
        failed = _failures(arm)
        ended = (
            Counter(outcome.case for outcome in outcomes_of(arm.boots) if outcome.case in failed)
            if failed
            else {}
        )
        for case, why in failed.items():
            if len(why) > MOST_FAILED * ended[case]:
                words = f"{name} failed in {len(why)} of {count_noun(ended[case], 'boot')}"
                reasons.setdefault(case, f"{words}: {why[0]}" if why[0] else words)
    return reasons


def different_results(rows: Sequence[Row]) -> dict[CaseKey, str]:
    """The reason for each case whose sides computed different results."""
    reasons: dict[CaseKey, str] = {}
    for row in rows:
        ours, theirs = (sorted(set(side.values.tolist())) for side in (row.base, row.head))
        if row.unit == RESULT and ours and theirs and ours != theirs:
            shown = " and ".join(", ".join(f"{each:.15g}" for each in values) for values in (ours, theirs))
            reason = f"the sides did different work: {row.metric} is {shown}"
            reasons.setdefault(row.case, reason)
    return reasons


def too_many_lost(row: Row, base: Arm, head: Arm) -> str | None:
    """The reason if so many values of a metric are unreadable that the rest is no fair sample; else None."""
    for name, arm, side in (("base", base, row.base), ("head", head, row.head)):
        lost = arm.lost.get((row.case, row.metric), ())
        if len(lost) > MOST_FAILED * (side.boots + len(lost)):
            return (
                f"{len(lost)} of {count_noun(side.boots + len(lost), 'value')} of {name} cannot be read:"
                f" {lost[0]}"
            )
    return None


def without_failed_boots(rows: Sequence[Row], base: Arm, head: Arm) -> Sequence[Row]:
    """Rows without boots that read 0 or no number, if these are few enough to leave a fair sample.

    A benchmark that reads 0 once did not run that time; a metric that is 0 in most boots really is 0. Boots
    that failed outright count too.
    """
    ours, our_notes = _drop_odd_boots("base", base, rows, [row.base for row in rows])
    theirs, their_notes = _drop_odd_boots("head", head, rows, [row.head for row in rows])
    if not our_notes and not their_notes:
        return rows
    return [
        row._replace(
            base=mine,
            head=other,
            notes=(*row.notes, *our_notes.get(number, ()), *their_notes.get(number, ())),
        )
        for number, (row, mine, other) in enumerate(zip(rows, ours, theirs, strict=True))
    ]


def _failures(arm: Arm) -> dict[CaseKey, list[str]]:
    """For each case: the reason of each boot in which it failed."""
    failures: dict[CaseKey, list[str]] = {}
    for each in bad_outcomes_of(arm.boots):
        if each.status in _SHARED:
            failures.setdefault(each.case, []).append(each.reason)
    return failures


def _drop_odd_boots(
    name: str, arm: Arm, rows: Sequence[Row], sides: Sequence[Side]
) -> tuple[Sequence[Side], dict[int, tuple[str, ...]]]:
    """One side of all rows without its odd boots, and notes on them by row index."""
    if not sides:
        return sides, {}
    columns = sides[0].columns
    odd = ~np.isfinite(columns.values) | (columns.values == 0)
    failures = _failures(arm)
    if not odd.any() and not failures and not arm.lost:
        return sides, {}
    chosen, notes = np.ones(len(odd), dtype=bool), dict[int, tuple[str, ...]]()
    for number, (row, side) in enumerate(zip(rows, sides, strict=True)):
        here, failed = odd[side.first : side.last], len(failures.get(row.case, ()))
        count = int(here.sum())
        missing = _missing_boots(name, failures.get(row.case, ()), arm.lost.get((row.case, row.metric), ()))
        if missing and side.boots:
            notes[number] = missing
        if count and count + failed <= MOST_FAILED * (side.boots + failed):
            what = "0" if (side.values[here] == 0).all() else "no number"
            are = "is" if count == 1 else "are"
            notes[number] = (
                *notes.get(number, ()),
                f"{count} of {count_noun(side.boots, 'boot')} of {name} read {what} and {are} left out",
            )
            chosen[side.first : side.last] = ~here
    kept, before = columns.kept(chosen), np.concatenate([[0], np.cumsum(chosen)]).tolist()
    return [Side(kept, before[side.first], before[side.last]) for side in sides], notes


def _missing_boots(name: str, failed: Sequence[str], lost: Sequence[str]) -> tuple[str, ...]:
    """Notes on boots without a value: how many, and why the first has none."""
    groups = ((failed, "boot", "failed"), (lost, "value", "could not be read"))
    return tuple(
        f"{count_noun(len(reasons), what)} of {name} {how}: {reasons[0]}"
        for reasons, what, how in groups
        if reasons
    )


def fit_for_ratios(rows: Sequence[Row]) -> list[bool]:
    """For each row: whether all values are positive and plausibly of one quantity.

    `odd_values` judges the others.
    """
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
    """Judges values that cannot be of one quantity, and rows of zeros only; None for all others."""
    values = [*row.base.values.tolist(), *row.head.values.tolist()]
    if not all(map(math.isfinite, values)) or draft.base is None or draft.head is None:
        return replace(
            draft, base=None, head=None, verdict="invalid", reason="a value that is no finite number"
        )
    if not any(values):
        return replace(
            draft, change=0.0, ci_low=0.0, ci_high=0.0, verdict="unchanged", reason="zero on both sides"
        )
    for name, side in (("base", row.base), ("head", row.head)):
        zeros = int((side.values == 0).sum())
        if is_timed(row.unit) and 0 < zeros < side.boots:
            reason = (
                f"{name} read 0 in {zeros} of {count_noun(side.boots, 'boot')}: the others are a selection"
            )
            return replace(draft, verdict="invalid", reason=reason)
    if row.metric.endswith(LESS_LOOP) and min(values) < 0:
        reason = f"{row.metric} has a negative value: the empty loop takes longer than the case"
        return replace(draft, verdict="inconclusive", reason=reason)
    if min(values) > 0 and max(values) > LARGEST_RATIO * min(values):
        reason = f"values {min(values):.3g} and {max(values):.3g} are not of one thing measured"
        return replace(draft, verdict="invalid", reason=reason)
    return None


def drift_notes(drifts: Sequence[Drift | None], threshold: float) -> list[str | None]:
    """A note for each row that drifts by `threshold` or more, None for others.

    Only for interleaved arms. All rows get the same sentence.
    """
    seen = [
        each if each is not None and abs(math.expm1(each.total)) >= threshold else None for each in drifts
    ]
    shown = [each for each in seen if each is not None]
    if not shown:
        return [None] * len(drifts)
    size = range_words([100 * math.expm1(each.total) for each in shown], form="+.1f")
    at_most = "=" if len(shown) == 1 else "at most"
    words = f"the host drifted by {size} % over the run (p {at_most} {max(each.p for each in shown):.1g})"
    note = f"{words}; the arms took turns, so it adds noise and no bias"
    return [None if each is None else note for each in seen]


def warnings_of_measurement(base: Arm, head: Arm) -> Iterator[str]:
    """Warns of a rehearsal, of a walltime host that is not a bench host, and of code in one layout only."""
    yield from rehearsal_warning(base.platform, head.platform)
    yield from host_warning((*base.host_faults, *head.host_faults))
    for caution in dict.fromkeys((*base.cautions, *head.cautions)):
        of_both = caution in base.cautions and caution in head.cautions
        side = "" if of_both else "base: " if caution in base.cautions else "head: "
        sentence = f"{side}{caution}."
        yield f"{sentence[0].upper()}{sentence[1:]}"


def rehearsal_warning(*platforms: str | None) -> tuple[str, ...]:
    """The warning about measurements of these platforms; none unless one of them is a rehearsal's."""
    words = (
        "This is a rehearsal: QEMU emulated the processor, so these are times of an emulator and not of"
        " hardware. It shows that the measurement works, and nothing about the speed of a kernel."
    )
    return (words,) if any(map(is_rehearsal, platforms)) else ()


def host_warning(faults: Iterable[str]) -> tuple[str, ...]:
    """The warning about a host with these faults; none without faults."""
    shown = "; ".join(dict.fromkeys(faults))
    words = (
        f"Measured on a host that is no bench host ({shown}): noise hides small changes, and rows may stay"
        " inconclusive. `cliffwatch doctor --mode walltime` shows how to put it right."
    )
    return (words,) if shown else ()


def drifts_of_rows(rows: Sequence[Row]) -> list[Drift | None]:
    """The drift of each row in boot order; None if it is not significant.

    Rows of the same boots share a computation.
    """
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
        for place, drift in zip(
            positive.tolist(), drifts_of(logs, order, arms, p_at_most=DRIFT_P), strict=True
        ):
            found[numbers[place]] = drift
    return found
