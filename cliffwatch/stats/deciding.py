"""From samples to decisions, for a whole family at once: by one stage of a fixed plan, or by screening and confirming.

Every decision follows from the samples and the plan alone, so that it can be made again from what is stored. docs/method.md
says why it is done so; docs/calibration.md how often it is wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cliffwatch.stats.equivalence import equivalent
from cliffwatch.stats.families import holm
from cliffwatch.stats.measured import Measured
from cliffwatch.stats.power import boots_needed, pooled_spread
from cliffwatch.stats.stages import Family, Stages, confirm_alone, confirm_together, screen

Outcome = Literal["changed", "changed-small", "equivalent", "open"]

Entropy = Callable[[], np.random.Generator]
"""Gives a generator in the same state at every call, so that a decision comes out the same when it is made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is known of one metric. `used` are the boots that estimate and interval come from.

    `direction` is that of the screen (0: no candidate, or a plan of one stage); `look` the number of confirming looks made,
    from 0. `p` and `q` are of the test that decided; `waiting` says that a further stage of the plan would look again.
    """

    outcome: Outcome
    used: Measured
    in_pairs: bool
    p: float
    q: float
    direction: int = 0
    looks: int = 0
    waiting: bool = False


def decide_fixed(family: Sequence[Measured], *, margin: float, alpha: float) -> list[Decision]:
    """One stage: every metric tested, Holm over all of them at `alpha`; `margin` is the notable change, a fraction."""
    found = []
    for row in family:
        in_pairs = row.related()
        found.append((in_pairs, float(row.ranked(in_pairs=in_pairs).p())))
    adjusted = holm([p for _, p in found])
    return [
        _judged(row, in_pairs, p, q, margin=margin, alpha=alpha, look=0, looks=1)
        for row, (in_pairs, p), q in zip(family, found, adjusted, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """A metric in a plan of two stages; `confirming` is None where it was not measured again."""

    screened: Measured
    confirming: Measured | None


def decide_staged(family: Sequence[Staged], stages: Stages, *, margin: float, entropy: Entropy) -> list[Decision]:
    """Screen all, confirm the candidates on the boots of the second stage, look by look as far as boots are in."""
    directions = [
        int(
            screen(
                row.screened.base[None], row.screened.head[None], alpha=stages.screen_alpha, least=np.log1p(margin) / 4
            )[0]
        )
        for row in family
    ]
    decisions = [
        _screened(row.screened, direction, stages, margin) for row, direction in zip(family, directions, strict=True)
    ]
    related = [decision.in_pairs for decision in decisions]
    for number, look in enumerate(stages.looks, start=1):
        reached = [
            index
            for index, row in enumerate(family)
            if decisions[index].waiting
            and row.confirming is not None
            and len(row.confirming.base)
            and _boots(row) >= look.boots
        ]
        if not reached:
            break
        _look(family, decisions, reached, related, stages, number, margin, entropy)
    return decisions


def _boots(row: Staged) -> int:
    """Of the smaller arm; a boot that failed and was not redone leaves a row short, so that one missing does not stop it."""
    assert row.confirming is not None
    return min(len(row.confirming.base), len(row.confirming.head)) + 1


def _screened(row: Measured, direction: int, stages: Stages, margin: float) -> Decision:
    in_pairs = row.related()
    ranked = row.ranked(in_pairs=in_pairs)
    p = float(ranked.p())
    done = direction == 0 and bool(equivalent(ranked, margin=margin, look=0, looks=1 + len(stages.looks)))
    waiting = direction != 0 or (not done and _within_reach(row, stages, margin))
    outcome: Outcome = "equivalent" if done else "open"
    return Decision(outcome=outcome, used=row, in_pairs=in_pairs, p=p, q=1.0, direction=direction, waiting=waiting)


def _within_reach(row: Measured, stages: Stages, margin: float) -> bool:
    """Whether the plan's last look has the boots that would show that nothing changed."""
    spread = float(pooled_spread(row.base, row.head))
    return boots_needed(float(np.log1p(margin)), spread, 0.1) <= stages.screen + stages.looks[-1].boots


def _look(
    family: Sequence[Staged],
    decisions: list[Decision],
    reached: list[int],
    related: list[bool],
    stages: Stages,
    number: int,
    margin: float,
    entropy: Entropy,
) -> None:
    """Makes one look at the rows that have its boots, and writes what it decides into `decisions`."""
    look = stages.looks[number - 1]
    last = number == len(stages.looks)
    fresh = {index: confirming.first(look.boots) for index in reached if (confirming := family[index].confirming)}
    candidates = [index for index in reached if decisions[index].direction]
    sharing = Family(
        metrics=len(family),
        candidates=sum(decision.direction != 0 for decision in decisions),
        confirmed=sum(decision.outcome in ("changed", "changed-small") for decision in decisions),
    )
    ways = np.array([decisions[index].direction for index in candidates], dtype=int)
    together = sharing.broad and len(candidates) > 1 and len({len(fresh[index].base) for index in candidates}) == 1
    if together:
        adjusted = confirm_together(
            np.stack([fresh[index].base for index in candidates]),
            np.stack([fresh[index].head for index in candidates]),
            ways,
            alpha=look.alpha,
            generator=entropy(),
        )
    p_values = [_one_sided(fresh[index], way, related[index]) for index, way in zip(candidates, ways, strict=True)]
    if not together:
        adjusted = confirm_alone(p_values, sharing)
    for index, p, q in zip(candidates, p_values, adjusted, strict=True):
        if q <= look.alpha:
            outcome = _size(fresh[index], related[index], margin)
            decisions[index] = replace(
                decisions[index],
                outcome=outcome,
                used=fresh[index],
                p=p,
                q=q * stages.alpha / look.alpha,
                waiting=False,
            )
        decisions[index] = replace(decisions[index], looks=number)
    for index in reached:
        if decisions[index].outcome == "open":
            pooled = fresh[index] if decisions[index].direction else family[index].screened.joined(fresh[index])
            ranked = pooled.ranked(in_pairs=related[index])
            shown = bool(equivalent(ranked, margin=margin, look=number, looks=1 + len(stages.looks)))
            decisions[index] = replace(
                decisions[index],
                outcome="equivalent" if shown else "open",
                used=pooled,
                p=float(ranked.p()),
                looks=number,
                waiting=not shown and not last,
            )


def _one_sided(row: Measured, direction: int, in_pairs: bool) -> float:
    ranked = row.ranked(in_pairs=in_pairs)
    return float(ranked.p_greater() if direction > 0 else ranked.p_less())


def _size(row: Measured, in_pairs: bool, margin: float) -> Outcome:
    notable = abs(np.expm1(float(row.ranked(in_pairs=in_pairs).shift))) >= margin
    return "changed" if notable else "changed-small"


def _judged(
    row: Measured, in_pairs: bool, p: float, q: float, *, margin: float, alpha: float, look: int, looks: int
) -> Decision:
    ranked = row.ranked(in_pairs=in_pairs)
    outcome: Outcome = "open"
    if q <= alpha:
        outcome = _size(row, in_pairs, margin)
    elif bool(equivalent(ranked, margin=margin, look=look, looks=looks)):
        outcome = "equivalent"
    return Decision(outcome=outcome, used=row, in_pairs=in_pairs, p=p, q=q)
