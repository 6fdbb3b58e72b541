"""Many tests at once: the more rows a report has, the stricter each.

Sources: Holm, Scandinavian Journal of Statistics 6, 1979; Westfall and Young, Resampling-Based Multiple Testing, 1993,
algorithm 4.1 (step-down max-T).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cliffwatch.stats.rank_tables import Values


def holm(p_values: Sequence[float] | Values) -> list[float]:
    """P-values after control of the family-wise error, in the order given; each in [0, 1]."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)) if len(values) else values
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, steps)
    return [float(value) for value in adjusted]


def max_t(
    base: Values, head: Values, directions: NDArray[np.int_], *, permutations: int, generator: np.random.Generator
) -> Values:
    """One-sided p-values of each metric in its direction (+1 or -1), controlled over the family by permuting boots.

    `base` and `head` are (metrics, boots) of logs; boots are permuted whole, so that the correlation of metrics counts. More
    powerful than Holm where metrics move together. P-values are multiples of 1 / (permutations + 1).
    """
    ranks = _centred_ranks(np.concatenate([base, head], axis=1))
    scale = np.sqrt((ranks**2).sum(axis=1))
    scores = directions[:, None] * ranks / np.where(scale > 0, scale, 1.0)[:, None]
    observed = scores[:, base.shape[1] :].sum(axis=1)
    order = np.argsort(-observed)
    exceeded = np.zeros(len(observed))
    for chunk in _label_chunks(base.shape[1], head.shape[1], permutations, generator):
        permuted = scores[order] @ chunk
        # The largest statistic among those not yet rejected: a running maximum from the weakest metric up.
        largest = np.maximum.accumulate(permuted[::-1], axis=0)[::-1]
        exceeded += (largest >= observed[order][:, None] - 1e-12).sum(axis=1)
    p_values = np.empty(len(observed))
    p_values[order] = np.maximum.accumulate((exceeded + 1) / (permutations + 1))
    return p_values


def _centred_ranks(values: Values) -> Values:
    """Ranks within each row, ties sharing theirs, less their mean."""
    ordered = np.sort(values, axis=1)
    below = np.stack([np.searchsorted(row, own, side="left") for row, own in zip(ordered, values, strict=True)])
    up_to = np.stack([np.searchsorted(row, own, side="right") for row, own in zip(ordered, values, strict=True)])
    return np.asarray((below + up_to - values.shape[1]) / 2)


def _label_chunks(n: int, m: int, permutations: int, generator: np.random.Generator) -> list[Values]:
    """Columns of 0 and 1 that say which boots are head's, in chunks that fit the cache."""
    labels = np.concatenate([np.zeros(n), np.ones(m)])
    sizes = [min(1000, permutations - start) for start in range(0, permutations, 1000)]
    return [generator.permuted(np.tile(labels[:, None], size), axis=0) for size in sizes]
