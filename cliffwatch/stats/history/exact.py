"""Where a series of counted values steps: every neighbour that differs by more than the case's threshold.

Counted values (instructions, allocations, emulated time) repeat, so that one measurement of each revision
shows a step, and one point on either side is enough. What grows by less than the threshold with each of
many revisions is a slow trend, not a step.
"""

import numpy as np

from cliffwatch.stats.history.steps import Step
from cliffwatch.stats.rank_tables import Values


def exact_steps(logs: Values, threshold: float) -> list[Step]:
    """All steps of a series of logs of counted values, in order: (points,) finite logs, one a measured
    revision, oldest first.

    `threshold` is a fraction, such as 0.002: what a comparison of the same metric takes for its
    repeatability, or what is notable of it, whichever is more. A point that differs from both neighbours
    makes two steps, as a change and its revert do. Each step is certain (p of 0) and lies exactly at its
    index. Raises ValueError of values that are not finite.
    """
    if not np.isfinite(logs).all():
        raise ValueError(
            "logs of an exact series must be finite: leave out what is zero, or compare it by itself"
        )
    sizes = np.expm1(np.diff(logs))
    return [
        Step(index=index + 1, size=float(sizes[index]), p=0.0, first=index + 1, last=index + 1)
        for index in np.flatnonzero(np.abs(sizes) > threshold).tolist()
    ]
