"""Many tests at once.

Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6, 1979.
"""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values after control of the family-wise error, in the order given; each in [0, 1]."""
    count = len(p_values)
    order = sorted(range(count), key=lambda index: p_values[index])
    adjusted = [0.0] * count
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
