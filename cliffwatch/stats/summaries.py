"""What a report says of each metric of a family, worked out for all that have as many boots at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.boot_values import BootValues, alike, ranked_alike
from cliffwatch.stats.noise.shapes import TwoModes, two_modes
from cliffwatch.stats.power import rank_spread
from cliffwatch.stats.ranks import sorted_median


@dataclass(frozen=True, slots=True)
class Summary:
    """Logs: medians of both arms, the shift with its bounds (infinite from too few boots), the spread as a rank test has it."""

    base: float
    head: float
    shift: float
    low: float
    high: float
    spread: float
    modes: TwoModes | None


def summarised(rows: Sequence[BootValues], in_pairs: Sequence[bool], *, level: float, notable: float) -> list[Summary]:
    """Summaries in the order of the rows; `level` is that of the intervals, `notable` the change that the spread is for."""
    bounds = np.zeros((3, len(rows)))
    for indexes, ranked in ranked_alike(rows, in_pairs):
        bounds[0, indexes] = ranked.shift
        bounds[1:, indexes] = ranked.interval(level)
    summaries: list[Summary | None] = [None] * len(rows)
    for indexes, base, head in alike(rows):
        centres = (sorted_median(np.sort(arm, axis=1)) for arm in (base, head))
        columns = [*centres, *bounds[:, indexes], rank_spread(base, head, math.log1p(notable))]
        for index, modes, numbers in zip(
            indexes, two_modes(base, head), np.stack(columns, axis=1).tolist(), strict=True
        ):
            ours, theirs, shift, low, high, spread = numbers
            summaries[index] = Summary(ours, theirs, shift, low, high, spread, modes)
    return [summary for summary in summaries if summary is not None]
