"""Where a series steps.

A hierarchical split, as in Hunter (Fleming et al., ICPE 2023), on a winsorized series of logs: the cut
with the largest Student statistic, taken while it is far from chance, in windows that overlap so that a
step up does not hide one down; then neighbouring segments are joined again, weakest step first, until
every step left is sure and large enough. The error of a largest statistic is not that of one test: `SURE`
is set by calibration (docs/calibration.md), not read as a p-value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cliffwatch.stats.history.backgrounds import Judged, judge, likelihoods
from cliffwatch.stats.history.winsorize import winsorized
from cliffwatch.stats.rank_tables import Values

WINDOW = 200
SURE = 3e-5
LEAST = 0.0075
"""The smallest step that is a candidate, as a fraction; what is reported of it is for the fresh comparison to
decide.
"""

EVIDENCE = 12.0
"""What a step must bring beyond the best smooth background, in twice the logarithm of the likelihood ratio.
"""

RANGE = 8.0
"""A step may lie where twice the logarithm of its likelihood is at most so much less than at its best place;
set by calibration.
"""

MARGIN = 2
"""Points by which a range is wider on either side than its likelihood says, which is that of normal noise."""

HORIZON = 250
"""Points in which a step is judged; of a watched series the newest so many are looked at."""

NEAR = 5
"""Steps at most so many points apart are one step, detected twice."""

BEFORE, AFTER = 10, 7
"""Points that must lie on each side before a step is a candidate: the ends of a series are where false steps
are.
"""

WINSORIZING_REACH = 5
"""Points on either side of a step whose running median looks across it."""

_SPLIT = 10 * SURE
_SHORTEST = 3
_LEAST = 1e-30


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
    logs = np.asarray(logs, dtype=float)
    rest = winsorized(logs)
    return _judged(logs, rest, _cuts(rest))


def candidates(logs: Values, known: Sequence[int] = ()) -> list[Step]:
    """Steps with enough points on both sides to be worth a fresh comparison, other than those near `known`
    indexes.
    """
    logs = np.asarray(logs, dtype=float)
    rest = winsorized(logs)
    joined = _cuts(rest)
    if not any(_new(cut, known) and BEFORE <= cut <= len(logs) - AFTER for _, cut, _ in joined):
        return []
    every = _judged(logs, rest, joined, known)
    edges = [0, *(step.index for step in every), len(logs)]
    return [
        step
        for step, before, after in zip(every, edges, edges[2:], strict=False)
        if step.index - before >= BEFORE and after - step.index >= AFTER and _new(step.index, known)
    ]


def _new(index: int, known: Sequence[int]) -> bool:
    return all(abs(index - each) > NEAR for each in known)


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Running sums of a series less its mean, and of its squares: what the means and variances of all its
    parts are made of.
    """

    sums: Values
    squares: Values

    def strength(self, left: int, cut: int, right: int) -> float:
        """Twice the log likelihood ratio of two levels against one."""
        total, before = self.sums[right] - self.sums[left], self.sums[cut] - self.sums[left]
        squares = self.squares[right] - self.squares[left] - total**2 / (right - left)
        n, m = cut - left, right - cut
        between = (before / n - (total - before) / m) ** 2 * n * m / (n + m)
        return float((n + m) * math.log(max(squares, _LEAST) / max(squares - between, _LEAST)))

    def size(self, left: int, cut: int, right: int) -> float:
        before, after = self.sums[cut] - self.sums[left], self.sums[right] - self.sums[cut]
        return math.expm1(float(after / (right - cut) - before / (cut - left)))


def _sums_of(rest: Values) -> _Sums:
    centred = np.concatenate([[0.0], rest - rest.mean()]) if len(rest) else np.zeros(1)
    return _Sums(np.cumsum(centred), np.cumsum(centred**2))


def _cuts(rest: Values) -> list[tuple[int, int, int]]:
    cuts: set[int] = set()
    sums = _sums_of(rest)
    starts = range(0, max(1, len(rest) - WINDOW // 2), WINDOW // 2)
    for start in np.array(starts)[_moving(sums, len(starts), len(rest))].tolist():
        _split(sums, start, min(len(rest), start + WINDOW), cuts)
    return _joined(sums, sorted(cuts), len(rest))


def _judged(
    logs: Values, rest: Values, joined: list[tuple[int, int, int]], known: Sequence[int] = ()
) -> list[Step]:
    """Of the cuts those that no smooth background explains, each judged where it is about the middle of a
    window.
    """
    cuts = [cut for _, cut, _ in joined]
    judged: dict[tuple[int, int], Judged] = {}
    kept: dict[int, tuple[int, int, Judged]] = {}
    for cut in cuts:
        start, stop = window = _window(len(rest), cut)
        if window not in judged:
            inside = [each for each in cuts if start < each < stop]
            prices = [EVIDENCE if _new(each, known) else 0.0 for each in inside]
            judged[window] = judge(rest[start:stop], [each - start for each in inside], prices)
        if cut - start in judged[window].kept:
            kept[cut] = start, stop, judged[window]
    sums = _sums_of(rest)
    if len(kept) < len(cuts):
        joined = _joined(sums, list(kept), len(rest))
    return [_step(logs, rest, sums, each, *kept[each[1]]) for each in joined]


def _window(count: int, cut: int) -> tuple[int, int]:
    start = max(0, min(cut - HORIZON * 2 // 3, count - HORIZON))
    return start, min(count, start + HORIZON)


def _split(sums: _Sums, start: int, stop: int, cuts: set[int]) -> None:
    """Adds the cuts of one window."""
    if stop - start < 2 * _SHORTEST:
        return
    cut, strength = _best_cut(sums, start, stop)
    if strength > _needed(stop - start, _SPLIT):
        cuts.add(cut)
        _split(sums, start, cut, cuts)
        _split(sums, cut, stop, cuts)


def _moving(sums: _Sums, count: int, points: int) -> NDArray[np.bool_]:
    """Of overlapping windows, whether any cut of it is sure enough to be split at: all at once, since most
    have none.
    """
    moving = np.ones(count, dtype=bool)
    whole = (points - WINDOW) // (WINDOW // 2) + 1 if points >= WINDOW else 0
    if whole:
        parts, squares = (
            sliding_window_view(each, WINDOW + 1)[:: WINDOW // 2][:whole]
            for each in (sums.sums, sums.squares)
        )
        left, weights = _places(WINDOW)
        total = parts[:, -1] - parts[:, 0]
        apart = parts[:, _SHORTEST : WINDOW - _SHORTEST + 1] - parts[:, :1] - left * (total / WINDOW)[:, None]
        between = (apart**2 * weights).max(axis=1) * WINDOW
        within = squares[:, -1] - squares[:, 0] - total**2 / WINDOW
        strength = WINDOW * np.log(np.maximum(within, _LEAST) / np.maximum(within - between, _LEAST))
        moving[:whole] = strength > _needed(WINDOW, _SPLIT)
    return moving


def _best_cut(sums: _Sums, start: int, stop: int) -> tuple[int, float]:
    """The cut with the largest statistic of Student, and its strength."""
    count = stop - start
    left, weights = _places(count)
    first, last = sums.sums[start], sums.sums[stop]
    apart = sums.sums[start + _SHORTEST : stop - _SHORTEST + 1] - first - left * ((last - first) / count)
    best = start + _SHORTEST + int((apart * apart * weights).argmax())
    return best, sums.strength(start, best, stop)


@lru_cache(maxsize=256)
def _places(count: int) -> tuple[Values, Values]:
    """Places of a cut in so many points, and one over what the square of the sum before it is divided by."""
    left = np.arange(_SHORTEST, count - _SHORTEST + 1, dtype=float)
    return left, 1 / (left * (count - left))


@lru_cache(maxsize=8192)
def _needed(count: int, p: float) -> float:
    """The strength of a cut of so many points whose p-value, were the cut chosen beforehand, would be `p`."""
    from scipy import special  # noqa: PLC0415 - half a second to load, for series with candidates alone

    return count * math.log1p(float(special.stdtrit(count - 2, 1 - p / 2)) ** 2 / (count - 2))


def _student(strength: float, count: int) -> float:
    from scipy import special  # noqa: PLC0415 - half a second to load, for series with candidates alone

    return 2 * float(special.stdtr(count - 2, -math.sqrt((count - 2) * math.expm1(strength / count))))


def _joined(sums: _Sums, cuts: list[int], count: int) -> list[tuple[int, int, int]]:
    """Cuts that stay, each as (start of the left segment, cut, stop of the right one); the weakest are taken
    away first.
    """
    edges = [0, *cuts, count]
    excess = [_excess(sums, *edges[at - 1 : at + 2]) for at in range(1, len(edges) - 1)]
    while excess and (weakest := min(excess)) <= 0:
        at = excess.index(weakest)
        del excess[at], edges[at + 1]
        for near in (at - 1, at):
            if 0 <= near < len(excess):
                excess[near] = _excess(sums, *edges[near : near + 3])
    return list(zip(edges, edges[1:], edges[2:], strict=False))


def _excess(sums: _Sums, left: int, cut: int, right: int) -> float:
    """How much stronger a cut is than it has to be; below nothing also where its step is too small."""
    if right - left < 3:
        return -math.inf
    excess = sums.strength(left, cut, right) - _needed(right - left, SURE)
    return min(excess, 0.0) - 1e-9 if abs(sums.size(left, cut, right)) < LEAST else excess


def _step(
    logs: Values,
    rest: Values,
    sums: _Sums,
    joined: tuple[int, int, int],
    start: int,
    stop: int,
    judged: Judged,
) -> Step:
    left, cut, right = joined
    loss = likelihoods(
        rest[start:stop], cut - start, [other for other in judged.kept if other != cut - start], judged
    )
    near = start + np.flatnonzero(loss <= RANGE)
    index = left + placed(logs[left:right], cut - left)
    return Step(
        index=index,
        size=sums.size(left, cut, right),
        p=_student(sums.strength(left, cut, right), right - left),
        first=max(1, min(int(near[0]), index) - MARGIN),
        last=min(len(logs) - 1, max(int(near[-1]), index) + MARGIN),
    )


def placed(values: Values, cut: int) -> int:
    """The cut nearby with the least absolute deviations from the two levels: winsorizing rounds the edge of a
    step.
    """
    low, high = float(np.median(values[:cut])), float(np.median(values[cut:]))
    gain = np.cumsum(np.abs(values - high) - np.abs(values - low))
    nearby = np.arange(max(1, cut - WINSORIZING_REACH), min(len(values) - 1, cut + WINSORIZING_REACH) + 1)
    return int(nearby[np.argmax(gain[nearby - 1])])
