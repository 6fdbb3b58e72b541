"""Many tests at once: the more rows a report has, the stricter each.

Source: Holm, Scandinavian Journal of Statistics 6, 1979.
"""

from collections.abc import Sequence

import numpy as np

from cliffwatch.stats.rank_tables import Values


def holm(p_values: Sequence[float] | Values) -> list[float]:
    """P-values after control of the family-wise error, in the order given; each in [0, 1]."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)) if len(values) else values
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, steps)
    return [float(value) for value in adjusted]
