"""Where a series steps.

A hierarchical split, as in Hunter (Fleming et al., ICPE 2023), on a winsorized series of logs: the cut with the largest Student
statistic, taken while it is far from chance, in windows that overlap so that a step up does not hide one down; then
neighbouring segments are joined again, weakest step first, until every step left is sure and large enough. The error of a
largest statistic is not that of one test: `SURE` is set by calibration (docs/calibration.md), not read as a p-value.
"""

import math
from dataclasses import dataclass

import numpy as np

from cliffwatch.stats.history.winsorize import winsorized
from cliffwatch.stats.rank_tables import Values

WINDOW = 100
SURE = 3e-5
LEAST = 0.0075
"""The smallest step that is a candidate, as a fraction; what is reported of it is for the fresh comparison to decide."""

BEFORE, AFTER = 10, 7
"""Points that must lie on each side before a step is a candidate: the ends of a series are where false steps are."""

WINSORIZING_REACH = 5
"""Points on either side of a step whose running median looks across it."""

_SPLIT = 10 * SURE
_SHORTEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The series steps at `index`, its first point on the new level, by `size` (a fraction of the old level).

    `first` and `last` are the indexes between which the step lies as far as the noise lets one tell.
    """

    index: int
    size: float
    p: float
    first: int
    last: int


def steps(logs: Values) -> list[Step]:
    """All steps of a series of logs, in order; those near the ends among them."""
    rest = winsorized(np.asarray(logs, dtype=float))
    cuts: set[int] = set()
    for start in range(0, max(1, len(rest) - WINDOW // 2), WINDOW // 2):
        _split(rest, start, min(len(rest), start + WINDOW), cuts)
    return [_step(np.asarray(logs, dtype=float), rest, *cut) for cut in _joined(rest, sorted(cuts))]


def candidates(logs: Values) -> list[Step]:
    """Steps with enough points on both sides to be worth a fresh comparison."""
    every = steps(logs)
    edges = [0, *(step.index for step in every), len(logs)]
    return [
        step
        for step, before, after in zip(every, edges, edges[2:], strict=False)
        if step.index - before >= BEFORE and after - step.index >= AFTER
    ]


def _split(rest: Values, start: int, stop: int, cuts: set[int]) -> None:
    """Adds the cuts of one window."""
    if stop - start < 2 * _SHORTEST:
        return
    cut, p = _best_cut(rest[start:stop])
    if p < _SPLIT:
        cuts.add(start + cut)
        _split(rest, start, start + cut, cuts)
        _split(rest, start + cut, stop, cuts)


def _best_cut(values: Values) -> tuple[int, float]:
    """The cut with the largest statistic of Student, and the p-value that it would have were it chosen beforehand."""
    count = len(values)
    centred = values - values.mean()
    sums, squares = np.cumsum(centred), float((centred**2).sum())
    left = np.arange(_SHORTEST, count - _SHORTEST + 1)
    between = sums[left - 1] ** 2 * count / (left * (count - left))
    best = int(np.argmax(between))
    within = max(squares - float(between[best]), 1e-30)
    return int(left[best]), _student(math.sqrt(float(between[best]) / (within / (count - 2))), count - 2)


def _student(statistic: float, freedom: int) -> float:
    from scipy import special  # noqa: PLC0415 - half a second to load, for series with candidates alone

    return 2 * float(special.stdtr(freedom, -statistic))


def _joined(rest: Values, cuts: list[int]) -> list[tuple[int, int, int, float]]:
    """Cuts that stay, each as (start of the left segment, cut, stop of the right one, p)."""
    while cuts:
        edges = [0, *cuts, len(rest)]
        segments = [
            (left, cut, right, _significance(rest[left:cut], rest[cut:right]))
            for left, cut, right in zip(edges, edges[1:], edges[2:], strict=False)
        ]
        weak = [each for each in segments if each[3] >= SURE or abs(_size(rest, *each[:3])) < LEAST]
        if not weak:
            return segments
        weakest = max(weak, key=lambda each: each[3])
        cuts.remove(weakest[1])
    return []


def _significance(left: Values, right: Values) -> float:
    n, m = len(left), len(right)
    if n + m < 3:
        return 1.0
    within = max(float(left.var() * n + right.var() * m), 1e-30) / (n + m - 2)
    return _student(abs(float(left.mean() - right.mean())) / math.sqrt(within * (1 / n + 1 / m)), n + m - 2)


def _size(rest: Values, left: int, cut: int, right: int) -> float:
    return math.expm1(float(rest[cut:right].mean() - rest[left:cut].mean()))


def _step(logs: Values, rest: Values, left: int, cut: int, right: int, p: float) -> Step:
    first, last = _range(rest[left:right], cut - left)
    index = left + placed(logs[left:right], cut - left)
    return Step(
        index=index,
        size=_size(rest, left, cut, right),
        p=p,
        first=min(left + first, index),
        last=max(left + last, index),
    )


def placed(values: Values, cut: int) -> int:
    """The cut nearby with the least absolute deviations from the two levels: winsorizing rounds the edge of a step."""
    low, high = float(np.median(values[:cut])), float(np.median(values[cut:]))
    gain = np.cumsum(np.abs(values - high) - np.abs(values - low))
    nearby = np.arange(max(1, cut - WINSORIZING_REACH), min(len(values) - 1, cut + WINSORIZING_REACH) + 1)
    return int(nearby[np.argmax(gain[nearby - 1])])


def _range(values: Values, cut: int) -> tuple[int, int]:
    """Cuts whose likelihood is within that of a 95 % region of the best one: 2 log(ratio) <= 5.99 for two segments' means."""
    count = len(values)
    sums = np.cumsum(values - values.mean())
    left = np.arange(1, count)
    between = sums[:-1] ** 2 * count / (left * (count - left))
    total = float(((values - values.mean()) ** 2).sum())
    within = np.maximum(total - between, 1e-30)
    near = left[count * np.log(within / within[cut - 1]) <= 5.99]
    return int(near.min(initial=cut)), int(near.max(initial=cut))
