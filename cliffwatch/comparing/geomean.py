"""Geometric means over the rows that both sides have."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from cliffwatch.catalogue.directions import is_timed
from cliffwatch.comparing.rows import Row, Side, blocks_of
from cliffwatch.comparing.thresholds import BEYOND_COMMON, MEAN_LEVEL
from cliffwatch.comparing.turns import CommonMovement, Turns
from cliffwatch.formats.verdicts import Mean
from cliffwatch.stats.boot_values import boot_values
from cliffwatch.stats.means import mean_ratio
from cliffwatch.stats.noise.between_sides import SideDrift
from cliffwatch.stats.rank_tables import Values

_SEED = 1979


def means_of(rows: Sequence[Row], turns: Turns) -> Iterator[Mean]:
    """Yields a mean for each primary metric and unit with at least two rows. None for noisy rows whose boots
    are too few for an interval: such a mean looks like a result.

    Intervals come from resampling the boots of the screen. If the sides were not interleaved, they include
    drift between the sides.
    """
    kinds: dict[tuple[str, str], list[Row]] = {}
    for row, positive in zip(rows, _positive(rows), strict=True):
        if row.traits.primary and positive:
            kinds.setdefault((row.metric, row.unit), []).append(row)
    for (metric, unit), group in kinds.items():
        if len(group) < 2:
            continue
        base, head = _matrix([row.base for row in group]), _matrix([row.head for row in group])
        mean = mean_ratio(base, head, level=MEAN_LEVEL, generator=np.random.default_rng(_SEED))
        if mean.low is None and any(row.traits.assume == "nothing" for row in group):
            continue
        factor = (
            1.0 if turns.taken else math.exp(_drift(base, head, turns.common if is_timed(unit) else None))
        )
        yield Mean(
            metric=metric,
            unit=unit,
            rows=len(group),
            change=mean.ratio - 1,
            ci_low=None if mean.low is None else mean.low / factor - 1,
            ci_high=None if mean.high is None else mean.high * factor - 1,
        )


def _drift(base: Values, head: Values, moved: CommonMovement | None) -> float:
    """What drift may add to either end of the interval, a log.

    It is the drift of the boots' means over all rows, plus the rows' common movement.
    """
    series = boot_values(_of_boots(base), _of_boots(head))
    common = 0.0 if moved is None else BEYOND_COMMON * abs(moved.size)
    return common + float(SideDrift([series]).allowances(np.array([1 - MEAN_LEVEL]))[0])


def _of_boots(matrix: Values) -> Values:
    """Mean over rows of each boot's distance from the row's mean, (boots,), in boot order."""
    known = ~np.isnan(matrix)
    matrix = matrix[:, known.any(axis=0)]
    return np.asarray(np.nanmean(matrix - np.nanmean(matrix, axis=1, keepdims=True), axis=0))


def _positive(rows: Sequence[Row]) -> list[bool]:
    """For each row: whether both sides have values and all are positive."""
    least = np.full(len(rows), np.inf)
    for sides in ([row.base for row in rows], [row.head for row in rows]):
        for block in blocks_of(sides):
            values = sides[0].columns.values[block.places]
            least[block.numbers] = np.minimum(least[block.numbers], values.min(axis=1, initial=np.inf))
    return [
        low > 0 and row.base.boots > 0 and row.head.boots > 0
        for low, row in zip(least.tolist(), rows, strict=True)
    ]


def _matrix(sides: Sequence[Side]) -> Values:
    """Logs of the boots of the screen, (metrics, boots); NaN if a boot has no value."""
    columns = sides[0].columns
    chosen = np.concatenate([np.arange(side.first, side.last) for side in sides])
    lines = np.repeat(np.arange(len(sides)), [side.boots for side in sides])
    screened = ~columns.boots.confirms[columns.places[chosen]]
    chosen, lines = chosen[screened], lines[screened]
    places, index = columns.places[chosen], columns.boots.index
    seen = np.zeros(len(index), dtype=bool)
    seen[places] = True
    column_of = {boot: column for column, boot in enumerate(sorted(set(index[seen].tolist())))}
    matrix = np.full((len(sides), max(1, len(column_of))), np.nan)
    matrix[lines, np.array([column_of.get(boot, 0) for boot in index.tolist()])[places]] = np.log(
        columns.values[chosen]
    )
    return matrix
