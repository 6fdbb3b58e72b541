"""Steps of a series of counted values: every neighbour that differs by more than the case's threshold.

Counted values (instructions, allocations, emulated time) repeat, so one measurement of each revision shows a
step, and one point on either side suffices. Growth below the threshold over many revisions is a slow trend,
not a step.
"""

import numpy as np

from cliffwatch.stats.history.steps import Step
from cliffwatch.stats.rank_tables import Values


def exact_steps(logs: Values, threshold: float) -> list[Step]:
    """All steps of a series of counted values, in order.

    `logs` are finite, (points,), one per measured revision, oldest first. `threshold` is a fraction, such as
    0.002: the larger of the metric's repeatability and its notable change.

    A point that differs from both neighbours makes two steps, as a change and its revert do. Each step is
    certain (p = 0) and lies exactly at its index. Raises ValueError if a value is not finite.
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
