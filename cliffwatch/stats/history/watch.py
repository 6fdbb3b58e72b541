"""A series watched point by point: what is worth a fresh comparison now.

Incremental: a point costs the same however long the series is. A large step is reported after three points, a smaller one after
six; either is a candidate, published only when fresh boots of the two revisions confirm it.
"""

from dataclasses import dataclass, field

import numpy as np

from cliffwatch.stats.history.steps import LEAST, Step, candidates, placed
from cliffwatch.stats.history.winsorize import OUTLIER, TO_SIGMA
from cliffwatch.stats.rank_tables import Values

HORIZON = 150
"""Points of the series that are looked at."""

NEAR = 5
"""Steps at most so many points apart are one step, detected twice."""

FAST = 3
_SETTLED = 20
"""Points that a level needs before the fast way can know its noise."""


@dataclass(slots=True)
class Watch:
    """The state of one series of one epoch; `reported` are the indexes of steps already handed out."""

    logs: list[float] = field(default_factory=list)
    reported: list[int] = field(default_factory=list)

    def append(self, log: float) -> list[Step]:
        """Adds a point, the log of a revision's centre; steps that it makes worth confirming, with indexes in the series."""
        self.logs.append(log)
        start = max(0, len(self.logs) - HORIZON)
        recent = np.array(self.logs[start:])
        settled = max([start, *self.reported])
        detected = [_moved(step, start) for step in candidates(recent)]
        detected += [_moved(step, settled) for step in _sudden(np.array(self.logs[settled:]))]
        new = []
        for step in detected:
            if all(abs(step.index - index) > NEAR for index in self.reported):
                self.reported.append(step.index)
                new.append(step)
        return new


def _moved(step: Step, by: int) -> Step:
    return Step(index=step.index + by, size=step.size, p=step.p, first=step.first + by, last=step.last + by)


def _sudden(recent: Values) -> list[Step]:
    """A step whose first three points all lie beyond six deviations of the level before, on one side."""
    if len(recent) < _SETTLED + FAST:
        return []
    level, newest = recent[-FAST - _SETTLED : -FAST], recent[-FAST:]
    centre = float(np.median(level))
    reach = max(OUTLIER * TO_SIGMA * float(np.median(np.abs(level - centre))), 2 * LEAST)
    if not (bool((newest > centre + reach).all()) or bool((newest < centre - reach).all())):
        return []
    index = placed(recent[-FAST - _SETTLED :], _SETTLED) + len(recent) - FAST - _SETTLED
    size = float(np.expm1(np.median(newest) - centre))
    return [Step(index=index, size=size, p=0.0, first=index - 1, last=index)]
