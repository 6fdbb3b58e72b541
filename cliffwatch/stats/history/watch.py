"""Watches a series point by point: returns the steps that are now worth a fresh comparison.

Incremental: the cost of a point does not depend on the length of the series. A large step is reported after
three points, a smaller one after seven. Either is only a candidate until fresh boots of the two revisions
confirm it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cliffwatch.stats.history.steps import HORIZON, LEAST, MARGIN, NEAR, Step, candidates, place_cut
from cliffwatch.stats.history.winsorize import OUTLIER, TO_SIGMA, median_of
from cliffwatch.stats.rank_tables import Values

FAST = 3
"""Points after which a large step is reported."""
_SETTLED = 20
"""Points a level needs before its noise is known well enough for a fast report."""


@dataclass(slots=True)
class Watch:
    """The state of one series in one epoch."""

    logs: list[float] = field(default_factory=list)
    reported: list[Step] = field(default_factory=list)
    """Steps already returned, with their indexes in the series."""

    def append(self, log: float) -> list[Step]:
        """Adds a point, the log of a revision's centre.

        Returns new candidates, with indexes in the series.
        """
        self.logs.append(log)
        start = max(0, len(self.logs) - HORIZON)
        recent = new_candidates(
            np.array(self.logs[start:]), [_shift_step(step, -start) for step in self.reported]
        )
        new = [_shift_step(step, start) for step in recent]
        self.reported += new
        return new


def new_candidates(recent: Values, known: Sequence[Step]) -> list[Step]:
    """Steps worth a fresh comparison among the newest `HORIZON` logs of a series, without `known` steps.

    A step counts as known if a known step lies within `NEAR` points. It also counts as known if a known step
    in the same direction lies in its range, or it lies in that step's range.
    """
    settled = max([0, *(step.index for step in known)])
    detected = candidates(recent, [step.index for step in known])
    detected += [_shift_step(step, settled) for step in _find_sudden_step(recent[settled:])]
    new: list[Step] = []
    for step in detected:
        if not any(same_step(step, other) for other in (*known, *new)):
            new.append(step)
    return new


def same_step(one: Step, other: Step) -> bool:
    if abs(one.index - other.index) <= NEAR:
        return True
    overlap = one.first <= other.index <= one.last or other.first <= one.index <= other.last
    return overlap and one.size * other.size > 0


def _shift_step(step: Step, by: int) -> Step:
    return Step(index=step.index + by, size=step.size, p=step.p, first=step.first + by, last=step.last + by)


def _find_sudden_step(recent: Values) -> list[Step]:
    """A step whose first three points all lie beyond six deviations of the level before, on one side.

    At most one.
    """
    if len(recent) < _SETTLED + FAST:
        return []
    level, newest = recent[-FAST - _SETTLED : -FAST], recent[-FAST:]
    centre = median_of(level)
    reach = max(OUTLIER * TO_SIGMA * median_of(np.abs(level - centre)), 2 * LEAST)
    if not (bool((newest > centre + reach).all()) or bool((newest < centre - reach).all())):
        return []
    index = place_cut(recent[-FAST - _SETTLED :], _SETTLED) + len(recent) - FAST - _SETTLED
    size = float(np.expm1(median_of(newest) - centre))
    first, last = max(1, index - 1 - MARGIN), min(len(recent) - 1, index + MARGIN)
    return [Step(index=index, size=size, p=0.0, first=first, last=last)]
