"""Decides a family of noisy metrics together: in one stage of a fixed plan, or by screening and confirming.

Decisions depend only on the samples and the plan, so they can be repeated from stored data. docs/method.md
gives the reasons; docs/calibration.md the error rates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from cliffwatch.stats.boot_values import BootValues, correlated_within_blocks, rank_groups, to_table
from cliffwatch.stats.equivalence import ALPHA, equivalent, level_of_look
from cliffwatch.stats.families import holm
from cliffwatch.stats.power.detection import POWER, detection_power
from cliffwatch.stats.power.spread import rank_spread
from cliffwatch.stats.ranks import Ranked
from cliffwatch.stats.shape_guard import guard_p_value
from cliffwatch.stats.stages import Family, Stages, confirm, screen

DecisionOutcome = Literal["changed", "changed-small", "equivalent", "open"]


class Decision(NamedTuple):
    """What is known of one metric."""

    outcome: DecisionOutcome
    used: BootValues
    """Boots behind the estimate and the interval."""
    in_pairs: bool
    p: float
    """p-value of the test that decided."""
    q: float
    """`p` after control of the family-wise error."""
    direction: int = 0
    """Direction of the screen's shift: +1 or -1. 0 if the row is no candidate, or the plan has one stage."""
    looks: int = 0
    """Number of confirming looks made."""
    waiting: bool = False
    """True if a later look of the plan could still decide this row."""
    level: float | None = None
    """Level of the interval that excluded a change of the margin; None if no interval did."""


def decide_fixed(family: Sequence[BootValues], *, margin: float, alpha: float) -> list[Decision]:
    """Decides a plan of one stage: every metric is tested, with Holm's correction over all at `alpha`.

    `margin` is the notable change, a fraction.
    """
    in_pairs = [
        moving and 2 * family[index].least_p_of_pairs() <= alpha / len(family)
        for index, moving in enumerate(correlated_within_blocks(family))
    ]
    p_values, shifts, equal = np.ones(len(family)), np.zeros(len(family)), np.zeros(len(family), dtype=bool)
    for indexes, ranked in rank_groups(family, in_pairs):
        p_values[indexes], shifts[indexes] = ranked.p(), ranked.shift
        equal[indexes] = equivalent(ranked, margin=margin, look=0, looks=1)
    for index in map(int, np.flatnonzero(p_values <= alpha)):
        p_values[index] = _guard_row(
            family[index], float(p_values[index]), 2, float(shifts[index]), in_pairs=in_pairs[index]
        )
    adjusted = holm(p_values)
    level = level_of_look(0, 1)
    return [
        Decision(
            outcome=_outcome(q <= alpha, shift, shown, margin),
            used=row,
            in_pairs=paired,
            p=p,
            q=q,
            level=level if shown and q > alpha else None,
        )
        for row, paired, p, q, shift, shown in zip(
            family, in_pairs, p_values.tolist(), adjusted, shifts.tolist(), equal.tolist(), strict=True
        )
    ]


def _guard_row(row: BootValues, p: float, sides: int, direction: float, *, in_pairs: bool) -> float:
    used = row.paired() if in_pairs else row
    return guard_p_value(p, used.base, used.head, sides=sides, direction=direction, in_pairs=in_pairs)


def _outcome(confirmed: bool, shift: float, shown: bool, margin: float) -> DecisionOutcome:
    if confirmed:
        return "changed" if abs(math.expm1(shift)) >= margin else "changed-small"
    return "equivalent" if shown else "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedValues:
    """A metric in a plan of two stages."""

    screened: BootValues
    confirming: BootValues | None
    """Boots of the second stage; None if the metric was not measured again."""


def decide_staged(family: Sequence[StagedValues], stages: Stages, *, margin: float) -> list[Decision]:
    """Screens all rows, then confirms the candidates on boots of the second stage.

    Makes each look for which enough boots are in.
    """
    screened = to_table([row.screened for row in family])
    directions = _directions(screened, stages, margin)
    decisions = _decide_after_screen(screened, directions, stages, margin)
    candidates = sum(direction != 0 for direction in directions)
    for number in range(1, len(stages.looks) + 1):
        look = _Look(stages=stages, number=number, margin=margin)
        reached = {
            index: _Reached(decisions[index], row.screened, row.confirming.first(look.boots))
            for index, row in enumerate(family)
            if decisions[index].waiting
            and row.confirming is not None
            and _boots(row.confirming) >= look.boots
        }
        if not reached:
            break
        reached = {
            index: _pairs_where_they_decide(row, look.alpha / max(1, candidates))
            for index, row in reached.items()
        }
        sharing = Family(
            metrics=len(family),
            candidates=candidates,
            confirmed=sum(decision.outcome in ("changed", "changed-small") for decision in decisions),
        )
        confirmed = _confirm_candidates(reached, sharing, look)
        for index, row in reached.items():
            decisions[index] = _decide_after_look(row, look, confirmed.get(index))
    return decisions


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """One look of a plan. `number` counts from 1."""

    stages: Stages
    number: int
    margin: float

    @property
    def boots(self) -> int:
        return self.stages.looks[self.number - 1].boots

    @property
    def alpha(self) -> float:
        return self.stages.looks[self.number - 1].alpha

    @property
    def last(self) -> bool:
        return self.number == len(self.stages.looks)

    def shows_equivalence(self, ranked: Ranked) -> bool:
        return bool(
            equivalent(ranked, margin=self.margin, look=self.number, looks=1 + len(self.stages.looks))
        )


@dataclass(frozen=True, slots=True)
class _Reached:
    """A metric that has enough boots for a look."""

    so_far: Decision
    """The decision before this look."""
    screened: BootValues
    """Boots of the screen."""
    fresh: BootValues
    """Boots of the second stage, up to this look."""


def _pairs_where_they_decide(row: _Reached, error: float) -> _Reached:
    """Falls back to two samples if so few pairs cannot reach the row's share of the error.

    As many boots in two samples can reach a smaller p-value.
    """
    if not row.so_far.in_pairs or row.fresh.least_p_of_pairs() <= error:
        return row
    return replace(row, so_far=row.so_far._replace(in_pairs=False))


def _hint(margin: float) -> float:
    """Smallest log shift that makes a candidate.

    Fresh boots must show it too, or the candidate is dropped.
    """
    return math.log1p(margin) / 4


def _directions(rows: Sequence[BootValues], stages: Stages, margin: float) -> list[int]:
    """The screen's direction of each row. Rows with equal numbers of boots are screened in one call."""
    directions = [0] * len(rows)
    for group in to_table(rows).groups:
        screened = screen(group.base, group.head, alpha=stages.screen_alpha, least=_hint(margin))
        for index, direction in zip(group.indexes.tolist(), screened.tolist(), strict=True):
            directions[index] = direction
    return directions


def _boots(row: BootValues) -> int:
    """Boots of the smaller arm plus one; 0 if an arm has none.

    The extra one keeps a single failed boot from delaying a look.
    """
    return min(len(row.base), len(row.head)) + 1 if len(row.base) and len(row.head) else 0


def _decide_after_screen(
    rows: Sequence[BootValues], directions: Sequence[int], stages: Stages, margin: float
) -> list[Decision]:
    """Decisions after the screen, with `waiting` set where further boots are worthwhile."""
    in_pairs = correlated_within_blocks(rows)
    p_values, equal = np.ones(len(rows)), np.zeros(len(rows), dtype=bool)
    for indexes, ranked in rank_groups(rows, in_pairs):
        p_values[indexes] = ranked.p()
        equal[indexes] = equivalent(ranked, margin=margin, look=0, looks=1 + len(stages.looks))
    within_reach = _within_reach(rows, stages, margin)
    decisions = []
    for index, (row, direction) in enumerate(zip(rows, directions, strict=True)):
        done = direction == 0 and bool(equal[index])
        decisions.append(
            Decision(
                outcome="equivalent" if done else "open",
                used=row,
                in_pairs=in_pairs[index],
                p=float(p_values[index]),
                q=1.0,
                direction=direction,
                waiting=direction != 0 or (not done and within_reach[index]),
                level=level_of_look(0, 1 + len(stages.looks)) if done else None,
            )
        )
    return decisions


def _within_reach(rows: Sequence[BootValues], stages: Stages, margin: float) -> list[bool]:
    """For each row: whether the boots of the first look suffice to show equivalence.

    If they do not, measuring on until the last look is not worth its cost.
    """
    shift, boots = math.log1p(margin), stages.screen + stages.looks[0].boots
    reached = [False] * len(rows)
    for group in to_table(rows).groups:
        spreads = rank_spread(group.base, group.head, shift).tolist()
        for index, spread in zip(group.indexes.tolist(), spreads, strict=True):
            reached[index] = detection_power(shift, spread, boots, boots, 2 * ALPHA) >= POWER
    return reached


def _confirm_candidates(
    reached: Mapping[int, _Reached], sharing: Family, look: _Look
) -> dict[int, tuple[float, float]]:
    """The p and q of each candidate that this look confirms, by row index."""
    candidates = {index: row for index, row in reached.items() if row.so_far.direction}
    p_values = [_one_sided(row) for row in candidates.values()]
    adjusted = confirm(p_values, sharing)
    return {
        index: (p, q) for index, p, q in zip(candidates, p_values, adjusted, strict=True) if q <= look.alpha
    }


def _decide_after_look(row: _Reached, look: _Look, confirmed: tuple[float, float] | None) -> Decision:
    """The decision after a look: confirmed, equivalent, given up, or open for the next look."""
    so_far = row.so_far._replace(looks=look.number)
    if confirmed is not None:
        p, q = confirmed
        shift = float(row.fresh.ranked(in_pairs=so_far.in_pairs).shift)
        outcome = _outcome(True, shift, False, look.margin)
        spent = q * look.stages.alpha / look.alpha
        return so_far._replace(outcome=outcome, used=row.fresh, p=p, q=spent, waiting=False)
    # The screen chose a candidate by its value, so that only fresh boots say what it is worth.
    pooled = row.fresh if so_far.direction else row.screened.joined(row.fresh)
    ranked = pooled.ranked(in_pairs=so_far.in_pairs)
    shown = look.shows_equivalence(ranked)
    borne_out = so_far.direction == 0 or so_far.direction * float(ranked.shift) >= _hint(look.margin)
    return so_far._replace(
        outcome="equivalent" if shown else "open",
        used=pooled,
        p=float(ranked.p()),
        waiting=borne_out and not shown and not look.last,
        level=level_of_look(look.number, 1 + len(look.stages.looks)) if shown else None,
    )


def _one_sided(row: _Reached) -> float:
    direction, in_pairs = row.so_far.direction, row.so_far.in_pairs
    ranked = row.fresh.ranked(in_pairs=in_pairs)
    p = float(ranked.p_greater() if direction > 0 else ranked.p_less())
    return p if p > ALPHA else _guard_row(row.fresh, p, 1, direction, in_pairs=in_pairs)
