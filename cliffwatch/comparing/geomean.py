"""Geometric means over the rows that both sides have."""

from collections.abc import Iterator, Sequence

import numpy as np

from cliffwatch.comparing.rows import Measurement, Row
from cliffwatch.comparing.thresholds import MEAN_LEVEL
from cliffwatch.formats.comparison import Mean
from cliffwatch.stats.means import mean_ratio
from cliffwatch.stats.rank_tables import Values

_SEED = 1979


def means_of(rows: Sequence[Row]) -> Iterator[Mean]:
    """A mean per primary metric and unit of two rows or more, with an interval by resampling the boots of the screen."""
    kinds: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.traits.primary and row.base and row.head and min(each.sample.value for each in row.both()) > 0:
            kinds.setdefault((row.metric, row.unit), []).append(row)
    for (metric, unit), group in kinds.items():
        if len(group) < 2:
            continue
        mean = mean_ratio(
            _matrix([row.base for row in group]),
            _matrix([row.head for row in group]),
            level=MEAN_LEVEL,
            generator=np.random.default_rng(_SEED),
        )
        yield Mean(
            metric=metric,
            unit=unit,
            rows=len(group),
            change=mean.ratio - 1,
            ci_low=None if mean.low is None else mean.low - 1,
            ci_high=None if mean.high is None else mean.high - 1,
        )


def _matrix(sides: Sequence[tuple[Measurement, ...]]) -> Values:
    """Logs, a row a metric and a column a boot; NaN where a boot has no value. Confirming boots only where nothing else is."""
    boots = sorted({each.boot.index for side in sides for each in side if each.boot.stage == "screen"})
    column_of = {index: column for column, index in enumerate(boots)}
    matrix = np.full((len(sides), max(1, len(boots))), np.nan)
    for line, side in enumerate(sides):
        for each in side:
            if each.boot.index in column_of:
                matrix[line, column_of[each.boot.index]] = np.log(each.sample.value)
    return matrix
