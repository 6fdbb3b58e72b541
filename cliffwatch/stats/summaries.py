"""What a report says of each metric of a family, worked out for all that have as many boots at once."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cliffwatch.stats.boot_values import BootValues, chosen_alike, ranked_alike, table_of
from cliffwatch.stats.noise.shapes import TwoModes, two_modes
from cliffwatch.stats.power.detection import t_quantile
from cliffwatch.stats.power.spread import paired_spread, rank_spread
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import sorted_median
from cliffwatch.stats.shape_guard import distances, spread_statistics


class Summary(NamedTuple):
    """One row in logarithms."""

    base: float
    """Median."""
    head: float
    """Median."""
    shift: float
    """Head less base."""
    low: float
    """Bound of the shift; infinite with too few boots."""
    high: float
    """Bound of the shift; infinite with too few boots."""
    spread: float
    """As a rank test has it."""
    modes: TwoModes | None
    noisier: float | None
    """Ratio of the sides' distances from their medians if it differs at the family's error; else None."""


def summarised(
    rows: Sequence[BootValues],
    in_pairs: Sequence[bool],
    *,
    levels: Sequence[float],
    notable: float,
    alpha: float,
    spread_in_pairs: bool,
) -> list[Summary]:
    """Summaries in the order of the rows; `levels` are those of their intervals, `notable` the change that
    the spread is for, `alpha` the error of the family in saying that a row became noisier. With
    `spread_in_pairs` rows in pairs have the spread of their pairs: not in plans whose screen compares two
    samples anyway.
    """
    bounds, wanted = np.zeros((3, len(rows))), np.array(levels)
    for indexes, ranked in ranked_alike(rows, in_pairs):
        bounds[0, indexes] = ranked.shift
        for level in sorted(set(wanted[indexes].tolist())):
            chosen = wanted[indexes] == level
            bounds[1:, indexes[chosen]] = np.stack(ranked.interval(level))[:, chosen]
    spreads = _spreads(rows, [paired and spread_in_pairs for paired in in_pairs], math.log1p(notable))
    summaries: list[Summary | None] = [None] * len(rows)
    for group in table_of(rows).groups:
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
    """Of each row, by the pairs' differences or by both arms."""
    spreads = np.zeros(len(rows))
    for paired, spread in ((True, paired_spread), (False, rank_spread)):
        for group in chosen_alike(rows, in_pairs, paired=paired):
            spreads[group.indexes] = spread(group.base, group.head, shift)
    return spreads


def _noisier(base: Values, head: Values, error: float) -> Values:
    """How many times as noisy head is; NaN where that may be chance or an arm has no noise."""
    ratios = np.full(len(base), np.nan)
    freedom = base.shape[1] + head.shape[1] - 2
    if freedom < 1:
        return ratios
    ours, theirs = distances(base).mean(axis=1), distances(head).mean(axis=1)
    differ = (np.abs(spread_statistics(base, head)) > t_quantile(error, freedom)) & (ours > 0) & (theirs > 0)
    ratios[differ] = theirs[differ] / ours[differ]
    return ratios
