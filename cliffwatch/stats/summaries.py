"""What a report says about each metric of a family.

Rows with equal numbers of boots share one computation.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cliffwatch.stats.boot_values import BootValues, group_by_pairing, rank_groups, to_table
from cliffwatch.stats.noise.shapes import TwoModes, two_modes
from cliffwatch.stats.power.detection import t_quantile
from cliffwatch.stats.power.spread import paired_spread, rank_spread
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import sorted_median
from cliffwatch.stats.shape_guard import distances, spread_statistics


class Summary(NamedTuple):
    """One row in logarithms."""

    base: float
    """Median of base's boots."""
    head: float
    """Median of head's boots."""
    shift: float
    """Head less base."""
    low: float
    """Lower bound of the shift; infinite with too few boots."""
    high: float
    """Upper bound of the shift; infinite with too few boots."""
    spread: float
    """Standard deviation of the normal noise in which a rank test has the same power."""
    modes: TwoModes | None
    """None if the boots form no two groups."""
    noisier: float | None
    """Ratio of head's mean distance from its median to base's; None unless they differ significantly."""


def summarise_rows(
    rows: Sequence[BootValues],
    in_pairs: Sequence[bool],
    *,
    levels: Sequence[float],
    notable: float,
    alpha: float,
    spread_in_pairs: bool,
) -> list[Summary]:
    """Summaries in the order of the rows.

    - `levels`: level of each row's interval.
    - `notable`: the change for which the spread is computed, a fraction.
    - `alpha`: family-wise error of calling a row noisier.
    - `spread_in_pairs`: paired rows get the spread of their pairs. False for plans whose screen compares two
      samples anyway.
    """
    bounds, wanted = np.zeros((3, len(rows))), np.array(levels)
    for indexes, ranked in rank_groups(rows, in_pairs):
        bounds[0, indexes] = ranked.shift
        for level in sorted(set(wanted[indexes].tolist())):
            chosen = wanted[indexes] == level
            bounds[1:, indexes[chosen]] = np.stack(ranked.interval(level))[:, chosen]
    spreads = _spreads(rows, [paired and spread_in_pairs for paired in in_pairs], math.log1p(notable))
    summaries: list[Summary | None] = [None] * len(rows)
    for group in to_table(rows).groups:
        centres = (sorted_median(np.sort(arm, axis=1)) for arm in (group.base, group.head))
        noisier = _noisier(group.base, group.head, alpha / len(rows))
        columns = np.stack(
            [*centres, *bounds[:, group.indexes], spreads[group.indexes], noisier], axis=1
        ).tolist()
        modes = two_modes(group.base, group.head)
        for index, seen, numbers in zip(group.indexes.tolist(), modes, columns, strict=True):
            ours, theirs, shift, low, high, spread, ratio = numbers
            known = None if math.isnan(ratio) else ratio
            summaries[index] = Summary(ours, theirs, shift, low, high, spread, seen, known)
    return [summary for summary in summaries if summary is not None]


def _spreads(rows: Sequence[BootValues], in_pairs: Sequence[bool], shift: float) -> Values:
    """The spread of each row, from the differences of its pairs or from both arms."""
    spreads = np.zeros(len(rows))
    for paired, spread in ((True, paired_spread), (False, rank_spread)):
        for group in group_by_pairing(rows, in_pairs, paired=paired):
            spreads[group.indexes] = spread(group.base, group.head, shift)
    return spreads


def _noisier(base: Values, head: Values, error: float) -> Values:
    """Ratio of head's noise to base's; NaN if that may be chance or an arm has no noise."""
    ratios = np.full(len(base), np.nan)
    freedom = base.shape[1] + head.shape[1] - 2
    if freedom < 1:
        return ratios
    ours, theirs = distances(base).mean(axis=1), distances(head).mean(axis=1)
    differ = (np.abs(spread_statistics(base, head)) > t_quantile(error, freedom)) & (ours > 0) & (theirs > 0)
    ratios[differ] = theirs[differ] / ours[differ]
    return ratios
