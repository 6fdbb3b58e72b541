"""What a report says of each metric of a family, worked out for all that have as many boots at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.boot_values import BootValues, alike, ranked_alike
from cliffwatch.stats.noise.shapes import TwoModes, two_modes
from cliffwatch.stats.power.detection import t_quantile
from cliffwatch.stats.power.spread import paired_spread, rank_spread
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.ranks import sorted_median
from cliffwatch.stats.shape_guard import distances, spread_statistics


@dataclass(frozen=True, slots=True)
class Summary:
    """Logs: medians of both arms, the shift with its bounds (infinite from too few boots), the spread as a rank test has it.

    `noisier` is how many times as far head's boots lie from their median, where that differs at the error of the family; else None.
    """

    base: float
    head: float
    shift: float
    low: float
    high: float
    spread: float
    modes: TwoModes | None
    noisier: float | None


def summarised(
    rows: Sequence[BootValues],
    in_pairs: Sequence[bool],
    *,
    levels: Sequence[float],
    notable: float,
    alpha: float,
    spread_in_pairs: bool,
) -> list[Summary]:
    """Summaries in the order of the rows; `levels` are those of their intervals, `notable` the change that the spread is for, `alpha` the
    error of the family in saying that a row became noisier. With `spread_in_pairs` rows in pairs have the spread of their pairs: not in
    plans whose screen compares two samples anyway.
    """
    bounds = np.zeros((3, len(rows)))
    for indexes, ranked in ranked_alike(rows, in_pairs):
        bounds[0, indexes] = ranked.shift
        wanted = np.array([levels[index] for index in indexes])
        for level in np.unique(wanted):
            chosen = wanted == level
            bounds[1:, np.array(indexes)[chosen]] = np.stack(ranked.interval(float(level)))[:, chosen]
    spreads = _spreads(rows, [paired and spread_in_pairs for paired in in_pairs], math.log1p(notable))
    summaries: list[Summary | None] = [None] * len(rows)
    for indexes, base, head in alike(rows):
        centres = (sorted_median(np.sort(arm, axis=1)) for arm in (base, head))
        columns = [*centres, *bounds[:, indexes], spreads[indexes]]
        columns.append(_noisier(base, head, alpha / len(rows)))
        for index, modes, numbers in zip(
            indexes, two_modes(base, head), np.stack(columns, axis=1).tolist(), strict=True
        ):
            ours, theirs, shift, low, high, spread, ratio = numbers
            summaries[index] = Summary(
                ours, theirs, shift, low, high, spread, modes, None if math.isnan(ratio) else ratio
            )
    return [summary for summary in summaries if summary is not None]


def _spreads(rows: Sequence[BootValues], in_pairs: Sequence[bool], shift: float) -> Values:
    """Of each row, by the pairs' differences or by both arms."""
    spreads = np.zeros(len(rows))
    for paired, spread in ((True, paired_spread), (False, rank_spread)):
        chosen = [index for index, each in enumerate(in_pairs) if each == paired]
        used = [rows[index].paired() if paired else rows[index] for index in chosen]
        for positions, base, head in alike(used):
            spreads[[chosen[position] for position in positions]] = spread(base, head, shift)
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
