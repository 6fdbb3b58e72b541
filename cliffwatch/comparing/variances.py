"""The variance components of the rows of a run, pooled over its arms."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.columns import RowKey, columns_of
from cliffwatch.comparing.rows import Side, Traits, rows_of
from cliffwatch.comparing.thresholds import ALPHA, SECONDARY_SHARE
from cliffwatch.samples import Arm
from cliffwatch.stats.noise.components import components
from cliffwatch.stats.power.budget import Variances, estimate_variances


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNoise:
    """Variance components of the noisy primary rows of a run."""

    rows: Mapping[RowKey, Variances]
    alpha: float
    """Two-sided error of each row, in the worst case."""
    readings: float
    """Readings of a boot, in the median of the rows; 1 if no row has several."""


def measure_noise(arms: Sequence[Arm], compared: int, traits: Traits) -> RunNoise:
    """Estimates the noise of arms that were booted in turn.

    The first arm is base; `compared` of the others are compared with it.
    """
    columns = [columns_of(arm.boots) for arm in arms]
    pairs = [row for each in columns[1:] for row in rows_of(columns[0], each, traits, arms[0].mode)]
    noisy = [row for row in pairs if row.traits.assume == "nothing" and _has_logs(row.base)]
    sides: dict[RowKey, list[Side]] = {}
    for row in noisy:
        if row.traits.primary and _has_logs(row.head):
            sides.setdefault(RowKey(row.case, row.metric, row.unit), [row.base]).append(row.head)
    counts = [len(each) for of_row in sides.values() for side in of_row for each in side.readings]
    share = 1.0 if all(row.traits.primary for row in noisy) else 1 - SECONDARY_SHARE
    return RunNoise(
        rows={key: _variances(of_row) for key, of_row in sides.items()},
        alpha=share * ALPHA / max(1, len(sides) * compared),
        readings=max(1.0, float(statistics.median(counts))) if counts else 1.0,
    )


def _has_logs(side: Side) -> bool:
    return side.boots > 0 and bool((side.values > 0).all())


def _variances(sides: Sequence[Side]) -> Variances:
    parts = [found for side in sides if (found := components(side.readings)) is not None]
    counts = [len(readings) for side in sides for readings in side.readings]
    within = statistics.fmean(part.within**2 for part in parts) if parts else 0.0
    return estimate_variances(
        [_by_layout(side) for side in sides], within, statistics.fmean(counts) if counts else 1.0
    )


def _by_layout(side: Side) -> Sequence[Sequence[float]]:
    """Logs of the boots of each layout; a boot of unknown layout is by itself."""
    known = side.columns.boots.layouts
    layouts: dict[object, list[float]] = {}
    for place, value in zip(side.places.tolist(), side.values.tolist(), strict=True):
        layout = known[place] if known else None
        layouts.setdefault(place if layout is None else layout, []).append(math.log(value))
    return list(layouts.values())
