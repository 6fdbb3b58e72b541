"""Changes in matched layouts: head in base's layouts, so that placement differs only behind what changed."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from cliffwatch.comparing.comparison import CHANGES
from cliffwatch.comparing.thresholds import MATCHED_LEVEL
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import MatchedChange
from cliffwatch.samples import Arm, CaseKey
from cliffwatch.stats.ranks import pairs

_Row = tuple[CaseKey, str, str]
"""Case, metric and unit."""
_Logs = Mapping[tuple[int, str], float]
"""Logs of the values, by block and layout."""


def with_matched(rows: Sequence[ComparisonRow], base: Arm, matched: Arm) -> tuple[ComparisonRow, ...]:
    """The rows, those with a change with what matched layouts show of it. Verdicts stay."""
    ours, theirs = _confirming_logs(base), _confirming_logs(matched)

    def told(row: ComparisonRow) -> ComparisonRow:
        key = (row.case, row.metric, row.unit)
        if row.verdict not in CHANGES or row.change is None or key not in ours.keys() & theirs.keys():
            return row
        return replace(row, matched=_matched_change(row.change, row.threshold, ours[key], theirs[key]))

    return tuple(map(told, rows))


def _confirming_logs(arm: Arm) -> Mapping[_Row, _Logs]:
    logs: dict[_Row, dict[tuple[int, str], float]] = {}
    for boot in arm.boots:
        if boot.stage != "confirm" or boot.layout is None:
            continue
        for sample in boot.samples:
            if 0 < sample.value < math.inf:
                key = (sample.case, sample.metric, sample.unit)
                logs.setdefault(key, {})[boot.block, boot.layout] = math.log(sample.value)
    return logs


def _matched_change(change: float, threshold: float, base: _Logs, matched: _Logs) -> MatchedChange | None:
    """Returns the change over the pairs, which share block and layout; None without a pair."""
    shared = sorted(base.keys() & matched.keys())
    if not shared:
        return None
    ranked = pairs(np.array([base[each] for each in shared]), np.array([matched[each] for each in shared]))
    low, high = (float(np.expm1(bound)) for bound in ranked.interval(MATCHED_LEVEL))
    known = math.isfinite(low) and math.isfinite(high)
    return MatchedChange(
        change=float(np.expm1(ranked.shift)),
        ci_low=low if known else None,
        ci_high=high if known else None,
        pairs=len(shared),
        only_placement=_only_placement(math.copysign(1.0, change), threshold, low, high) if known else None,
    )


def _only_placement(direction: float, threshold: float, low: float, high: float) -> bool | None:
    """Returns False if the interval excludes zero, so also where it excludes the threshold as well."""
    least, most = sorted((direction * low, direction * high))
    if least > 0:
        return False
    return True if most < threshold else None
