"""Outliers of a series: clipped before steps are sought, and reported so that they can be measured again."""

import statistics

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from cliffwatch.stats.rank_tables import Values

WIDTH = 11
"""Points of the running median."""

REACH = 2.5
"""Robust standard deviations from the running median at which a point is clipped."""

OUTLIER = 6.0
"""Median absolute deviations beyond which a point is measured again before anybody is notified."""

TO_SIGMA = 1.4826
"""Standard deviations per median absolute deviation, for normal values."""


def winsorize(logs: Values) -> Values:
    """Clips a series at `REACH` from its running median."""
    if len(logs) < 3:
        return logs
    centre = running_median(logs)
    rest = logs - centre
    reach = REACH * TO_SIGMA * median_of(np.abs(rest))
    return centre + np.clip(rest, -reach, reach) if reach > 0 else logs


def median_of(values: Values) -> float:
    """The median. Several times as fast as numpy's for short series."""
    ordered, middle = np.sort(values), len(values) // 2
    return float(ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def running_median(logs: Values) -> Values:
    """The median of `WIDTH` points around each point; of fewer at the ends."""
    count = len(logs)
    half = min(WIDTH // 2, (count - 1) // 2)
    medians = np.empty(count)
    medians[half : count - half] = np.sort(sliding_window_view(logs, 2 * half + 1), axis=1)[:, half]
    for index in (*range(half), *range(count - half, count)):
        medians[index] = statistics.median(logs[max(0, index - half) : index + half + 1].tolist())
    return medians
