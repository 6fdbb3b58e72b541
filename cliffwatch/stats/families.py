"""Multiple testing: the more rows a report has, the stricter each test.

Source: Holm, Scandinavian Journal of Statistics 6, 1979.
"""

from collections.abc import Sequence

import numpy as np

from cliffwatch.stats.rank_tables import Values


def holm(p_values: Sequence[float] | Values) -> list[float]:
    """Adjusts p-values to control the family-wise error. Returns values in [0, 1] in the given order."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)) if len(values) else values
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, steps)
    return [float(value) for value in adjusted]
