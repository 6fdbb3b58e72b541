"""Compares two arms: row by row, then as a family."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from cliffwatch.columns import BootsOfColumns, columns_of
from cliffwatch.comparing.comparison import Comparison, ComparisonSet, SideFacts, took_turns
from cliffwatch.comparing.geomean import means_of
from cliffwatch.comparing.loops.empty_loop import with_rows_less_loops
from cliffwatch.comparing.placement.layouts import by_layout, count_layouts, with_spread
from cliffwatch.comparing.rows import Row, Side, Traits, blank, join_columns, rows_of
from cliffwatch.comparing.thresholds import PLAIN, SECONDARY_SHARE, Method
from cliffwatch.comparing.turns import Turns, turns_of, warnings_of_order
from cliffwatch.comparing.validity import (
    Unfair,
    drift_notes,
    drifts_of_rows,
    fit_for_ratios,
    odd_values,
    unfair_rows,
    warnings_of_measurement,
    without_failed_boots,
)
from cliffwatch.comparing.verdicts.absent import failed_rows, left_outcomes, lost_first, one_sided
from cliffwatch.comparing.verdicts.apart import Apart
from cliffwatch.comparing.verdicts.control import apply_control, control_of
from cliffwatch.comparing.verdicts.exact import judge_exact
from cliffwatch.comparing.verdicts.noisy import FamilyError, judge_family
from cliffwatch.comparing.verdicts.processors import warnings_of_processors
from cliffwatch.comparing.verdicts.zeros import as_positive, judge_exact_without_ratio, judge_without_ratio
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.samples import Arm, Boot, CaseKey, Mode, is_rehearsal
from cliffwatch.stats.stages import Stages


def compare(
    base: Arm, head: Arm, traits: Traits, method: Method = PLAIN, *, control: Arm | None = None
) -> ComparisonSet | Failure:
    """Compares every metric that either side measured.

    `control` is base under a second name, booted in the same plan.
    """
    compared = compare_arms(base, [head], traits, method, control=control)
    return compared if isinstance(compared, Failure) else compared[0]


def compare_arms(
    base: Arm, heads: Sequence[Arm], traits: Traits, method: Method = PLAIN, *, control: Arm | None = None
) -> tuple[ComparisonSet, ...] | Failure:
    """Compares each of `heads` with base.

    All their rows form one family, so more arms make each row stricter.
    """
    for head in heads:
        unlike = _check_alike(base, head)
        if unlike is not None:
            return unlike
    mode = base.mode or heads[0].mode
    pairs = [_Pair(base, head, _pair_rows(base, head, traits, mode)) for head in heads]
    judged = _judge_pairs(pairs, mode, method)
    itself = None if control is None else _against_itself(base, control, traits, method)
    return tuple(_set_of(pair, each, itself, mode, method) for pair, each in zip(pairs, judged, strict=True))


@dataclass(frozen=True, slots=True)
class _Pair:
    """An arm and base, with the rows of both."""

    base: Arm
    head: Arm
    rows: Sequence[Row]

    @property
    def platform(self) -> str | None:
        return self.base.platform or self.head.platform


@dataclass(frozen=True, slots=True)
class _Judged:
    """The results of a pair."""

    comparisons: list[Comparison]
    """In the order of the pair's rows."""
    waiting: tuple[CaseKey, ...]
    """Cases that wait for a further look."""
    turns: Turns


def _check_alike(base: Arm, head: Arm) -> Failure | None:
    if is_rehearsal(base.platform) != is_rehearsal(head.platform):
        return wrong_usage(
            "one side is a rehearsal and the other is not: time of an emulator says nothing about hardware",
            "measure both sides in one run",
        )
    for what, ours, theirs in (("modes", base.mode, head.mode), ("platforms", base.platform, head.platform)):
        if ours is not None and theirs is not None and ours != theirs:
            return wrong_usage(
                f"the two sides are of different {what}: {ours} and {theirs}",
                "measure both sides on one platform in one mode",
            )
    return None


def _pair_rows(base: Arm, head: Arm, traits: Traits, mode: Mode | None) -> Sequence[Row]:
    rows = list(rows_of(columns_of(base.boots), columns_of(head.boots), traits, mode))
    return with_rows_less_loops(without_failed_boots(rows, base, head))


def _set_of(
    pair: _Pair, judged: _Judged, itself: ComparisonSet | None, mode: Mode | None, method: Method
) -> ComparisonSet:
    base, head, rows = pair.base, pair.head, pair.rows
    measured = {case for row in rows for case in (row.case, row.case.planned)}
    comparisons = [*judged.comparisons, *failed_rows(base, head, rows, mode, method)]
    reported = comparisons if itself is None else apply_control(comparisons, itself)
    order = tuple(warnings_of_order(_noisy(rows, reported), judged.turns))
    return ComparisonSet(
        base=_side(base),
        head=_side(head),
        platform=pair.platform,
        mode=mode,
        notable=method.threshold("exact" if mode == "icount" else "nothing"),
        alpha=method.alpha,
        rows=lost_first(reported),
        left_out=left_outcomes(base, head, measured),
        means=tuple(
            means_of(
                by_layout(
                    [row for row, each in zip(rows, reported, strict=False) if each.change is not None]
                ),
                judged.turns,
            )
        ),
        control=None if itself is None else control_of(itself),
        sweeps=_sweeps(reported),
        waiting=judged.waiting,
        next_look=_next_look(rows, judged.waiting, method.stages),
        warnings=(
            *dict.fromkeys((*base.warnings, *head.warnings)),
            *warnings_of_measurement(base, head),
            *warnings_of_processors(base, head),
            *order,
        ),
        took_turns=took_turns(order),
    )


def _noisy(rows: Sequence[Row], reported: Sequence[Comparison]) -> Sequence[Row]:
    """Primary noisy rows with a known change."""
    return [
        row
        for row, each in zip(rows, reported, strict=False)
        if each.assume == "nothing" and each.change is not None and each.primary
    ]


def _side(arm: Arm) -> SideFacts:
    boots, layouts = _screening_boots(arm.boots), count_layouts(arm.boots)
    return SideFacts(name=arm.name, label=arm.label, facts=arm.facts, boots=boots, layouts=layouts)


def _screening_boots(boots: Sequence[Boot]) -> int:
    """Boots of the screen that each case has.

    A block starts one guest of each shape, and every case runs in one of them. So blocks are counted.
    """
    if isinstance(boots, BootsOfColumns):
        table = boots.columns.boots
        return len(set(table.block[~table.confirms].tolist()))
    return len({boot.block for boot in boots if boot.stage == "screen"})


def _judge_pairs(pairs: Sequence[_Pair], mode: Mode | None, method: Method) -> tuple[_Judged, ...]:
    """The results of each pair.

    Noisy rows of all pairs form two families: the primary rows and the others.
    """
    paired = [(pair, row) for pair in pairs for row in pair.rows]
    fits = [fit_for_ratios(pair.rows) for pair in pairs]
    judged = [
        each for pair, fit in zip(pairs, fits, strict=True) for each in _judge_singly(pair, fit, mode, method)
    ]
    with_ratios = [each for fit in fits for each in fit]
    waiting: dict[int, list[CaseKey]] = {id(pair): [] for pair in pairs}
    in_families = [each is None and fit for each, fit in zip(judged, with_ratios, strict=True)]
    turns = _turns(pairs, paired, in_families, method)
    families = {
        primary: [
            index
            for index, ((_, row), each) in enumerate(zip(paired, judged, strict=True))
            if each is None and row.traits.primary == primary
        ]
        for primary in (True, False)
    }
    for primary, family in families.items():
        share = SECONDARY_SHARE if not primary else 1 - SECONDARY_SHARE
        if not family:
            continue
        booted = [
            row if with_ratios[index] else as_positive(row)
            for index, row in ((index, paired[index][1]) for index in family)
        ]
        noisy = join_columns(by_layout(booted))
        decided, open_rows = judge_family(
            [blank(row, pair.platform, mode, method) for pair, row in (paired[index] for index in family)],
            noisy,
            one_run=method.one_run,
            threshold=method.threshold("nothing"),
            error=FamilyError(of_report=method.alpha, share=share if all(families.values()) else 1.0),
            stages=method.stages if primary else None,
            # What reads zero on a side has no share of itself by which it could drift.
            apart=[
                Apart.of(turns[id(paired[index][0])], row) if with_ratios[index] else None
                for index, row in zip(family, noisy, strict=True)
            ],
        )
        drifts = drifts_of_rows(join_columns(booted)) if method.one_run else [None] * len(noisy)
        in_turns = [with_ratios[index] and turns[id(paired[index][0])].taken for index in family]
        drifts = [each if taken else None for each, taken in zip(drifts, in_turns, strict=True)]
        notes = drift_notes(drifts, method.threshold("nothing"))
        for index, row, each, note in zip(family, noisy, decided, notes, strict=True):
            if with_ratios[index]:
                noted = each if note is None else replace(each, notes=(*each.notes, note))
                judged[index] = (
                    with_spread(noted, paired[index][1], row) if row.observed == "layout" else noted
                )
            else:
                judged[index] = judge_without_ratio(each, paired[index][1], method.alpha)
        for index in open_rows:
            pair, row = paired[family[index]]
            waiting[id(pair)].append(row.case)
    ended = iter([each for each in judged if each is not None])
    return tuple(
        _Judged([next(ended) for _ in pair.rows], tuple(dict.fromkeys(waiting[id(pair)])), turns[id(pair)])
        for pair in pairs
    )


def _turns(
    pairs: Sequence[_Pair],
    paired: Sequence[tuple[_Pair, Row]],
    in_families: Sequence[bool],
    method: Method,
) -> dict[int, Turns]:
    """For each pair, by `id`: whether its arms were interleaved, from its noisy rows with ratios."""
    noisy: dict[int, list[Row]] = {id(pair): [] for pair in pairs}
    for (pair, row), chosen in zip(paired, in_families, strict=True):
        if chosen:
            noisy[id(pair)].append(row)
    notable = method.threshold("nothing")
    return {pair: turns_of(rows, one_run=method.one_run, notable=notable) for pair, rows in noisy.items()}


def _judge_singly(
    pair: _Pair, fits: Sequence[bool], mode: Mode | None, method: Method
) -> list[Comparison | None]:
    """Judges each row of a pair that needs no family; None for the others."""
    base, head, rows = pair.base, pair.head, pair.rows
    unfair = unfair_rows(rows, base, head)
    return [
        _judge_alone(row, base, head, mode, method, why, fit=fit)
        for row, fit, why in zip(rows, fits, unfair, strict=True)
    ]


def _judge_alone(
    row: Row, base: Arm, head: Arm, mode: Mode | None, method: Method, unfair: Unfair | None, *, fit: bool
) -> Comparison | None:
    """Judges a row without its family; None for a noisy row, which is judged with its family.

    `unfair` is the verdict and reason if the sides cannot be compared. `fit` is True if the values have
    ratios.
    """
    noisy = row.traits.assume == "nothing"
    screened = _screens(row.base) and _screens(row.head)
    if fit and unfair is None and noisy and screened:
        return None
    draft = replace(
        blank(row, base.platform or head.platform, mode, method),
        base=row.base.centre(),
        head=row.head.centre(),
    )
    if not row.base.boots or not row.head.boots:
        return one_sided(draft, base, head, row.other_unit)
    if unfair is not None:
        verdict, reason = unfair
        notes = tuple(note for note in draft.notes if note.partition(": ")[2] not in reason)
        return replace(draft, verdict=verdict, reason=reason, notes=notes)
    odd = odd_values(draft, row)
    if odd is None and not screened:
        return replace(draft, verdict="inconclusive", reason="no boot of the screen has it on both sides")
    if odd is not None or noisy:
        return odd
    return judge_exact(draft, row, draft.threshold) if fit else judge_exact_without_ratio(draft, row)


def _screens(side: Side) -> bool:
    """True if the side has a boot of the screen."""
    return side.boots > 0 and not side.columns.boots.confirms[side.places].all()


def _against_itself(base: Arm, control: Arm, traits: Traits, method: Method) -> ComparisonSet | None:
    itself = compare(base, control, traits, method.in_one_stage())
    return None if isinstance(itself, Failure) else itself


def _sweeps(rows: Sequence[Comparison]) -> tuple[Sweep, ...]:
    cases = [(row.case.suite, row.case.benchmark, row.metric) for row in rows if row.case.params]
    if len(set(cases)) == len(cases):
        return ()
    from cliffwatch.comparing.sweeps.curves import sweeps_of  # noqa: PLC0415 - for several cases alone

    return tuple(sweeps_of(rows))


def _next_look(rows: Sequence[Row], waiting: Sequence[CaseKey], stages: Stages | None) -> int:
    """Confirming boots per arm that the next look at the waiting cases needs; 0 if none waits."""
    if stages is None or not waiting:
        return 0
    cases = set(waiting)
    done = max((_confirming(row.base) for row in rows if row.case in cases), default=0)
    # One boot that gave nothing does not delay a look, see cliffwatch.stats.deciding.
    return next((look.boots for look in stages.looks if look.boots > done + 1), 0)


def _confirming(side: Side) -> int:
    return int(side.columns.boots.confirms[side.places].sum())
