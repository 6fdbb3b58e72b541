"""Finds the steps of a series.

A hierarchical split, as in Hunter (Fleming et al., ICPE 2023), on a winsorized series of logs. It takes the
cut with the largest Student statistic while that is far from chance. Windows overlap, so that a step up does
not hide a step down. Neighbouring segments are then joined again, weakest step first, until every remaining
step is significant and large enough.

The error of a largest statistic is not that of a single test: `SURE` is calibrated (docs/calibration.md) and
is no p-value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cliffwatch.stats.history.backgrounds import JudgedCuts, judge, likelihoods
from cliffwatch.stats.history.winsorize import winsorize
from cliffwatch.stats.rank_tables import Values

WINDOW = 200
SURE = 3e-5
"""Nominal p-value that a step must reach; calibrated."""
LEAST = 0.0075
"""Smallest step that is a candidate, as a fraction. The fresh comparison decides what is reported of it."""

EVIDENCE = 12.0
"""Evidence a step must bring beyond the best smooth background, as twice the log likelihood ratio."""

RANGE = 8.0
"""Largest loss of twice the log likelihood, against the best location, within a step's range; calibrated."""

MARGIN = 2
"""Points by which a range is widened on either side: its likelihood assumes normal noise."""

HORIZON = 250
"""Points among which a step is judged. Of a watched series, only this many newest points are examined."""

NEAR = 5
"""Steps at most this many points apart are one step, detected twice."""

BEFORE, AFTER = 10, 7
"""Points that must lie on each side before a step is a candidate: the ends of a series are where false steps
are.
"""

WINSORIZING_REACH = 5
"""Points on either side of a step whose running median reaches across it."""

_SPLIT = 10 * SURE
_SHORTEST = 3
_LEAST = 1e-30


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a series."""

    index: int
    """First point on the new level."""
    size: float
    """As a fraction of the old level."""
    p: float
    first: int
    """Lowest plausible index, given the noise."""
    last: int
    """Highest plausible index."""


def steps(logs: Values) -> list[Step]:
    """All steps of a series of logs, in order, including those near the ends."""
    logs = np.asarray(logs, dtype=float)
    rest = winsorize(logs)
    return _judge_cuts(logs, rest, _cuts(rest))


def candidates(logs: Values, known: Sequence[int] = ()) -> list[Step]:
    """Steps with enough points on both sides for a fresh comparison, without those near `known` indexes."""
    logs = np.asarray(logs, dtype=float)
    rest = winsorize(logs)
    joined = _cuts(rest)
    if not any(_is_new(cut, known) and BEFORE <= cut <= len(logs) - AFTER for _, cut, _ in joined):
        return []
    every = _judge_cuts(logs, rest, joined, known)
    edges = [0, *(step.index for step in every), len(logs)]
    return [
        step
        for step, before, after in zip(every, edges, edges[2:], strict=False)
        if step.index - before >= BEFORE and after - step.index >= AFTER and _is_new(step.index, known)
    ]


def _is_new(index: int, known: Sequence[int]) -> bool:
    return all(abs(index - each) > NEAR for each in known)


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Running sums of a centred series and of its squares. They give the mean and variance of any part."""

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
    for start in np.array(starts)[_windows_with_steps(sums, len(starts), len(rest))].tolist():
        _split(sums, start, min(len(rest), start + WINDOW), cuts)
    return _join_segments(sums, sorted(cuts), len(rest))


def _judge_cuts(
    logs: Values, rest: Values, joined: list[tuple[int, int, int]], known: Sequence[int] = ()
) -> list[Step]:
    """The steps among the cuts that no smooth background explains.

    Each cut is judged in a window with the cut near its middle.
    """
    cuts = [cut for _, cut, _ in joined]
    judged: dict[tuple[int, int], JudgedCuts] = {}
    kept: dict[int, tuple[int, int, JudgedCuts]] = {}
    for cut in cuts:
        start, stop = window = _window(len(rest), cut)
        if window not in judged:
            inside = [each for each in cuts if start < each < stop]
            prices = [EVIDENCE if _is_new(each, known) else 0.0 for each in inside]
            judged[window] = judge(rest[start:stop], [each - start for each in inside], prices)
        if cut - start in judged[window].kept:
            kept[cut] = start, stop, judged[window]
    sums = _sums_of(rest)
    if len(kept) < len(cuts):
        joined = _join_segments(sums, list(kept), len(rest))
    return [_step(logs, rest, sums, each, *kept[each[1]]) for each in joined]


def _window(count: int, cut: int) -> tuple[int, int]:
    start = max(0, min(cut - HORIZON * 2 // 3, count - HORIZON))
    return start, min(count, start + HORIZON)


def _split(sums: _Sums, start: int, stop: int, cuts: set[int]) -> None:
    """Adds the cuts of one window to `cuts`."""
    if stop - start < 2 * _SHORTEST:
        return
    cut, strength = _best_cut(sums, start, stop)
    if strength > _needed(stop - start, _SPLIT):
        cuts.add(cut)
        _split(sums, start, cut, cuts)
        _split(sums, cut, stop, cuts)


def _windows_with_steps(sums: _Sums, count: int, points: int) -> NDArray[np.bool_]:
    """For each overlapping window: whether any cut is significant enough to split at.

    Full windows are computed at once, because most have no cut.
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
    """The cut with the largest Student statistic, and its strength."""
    count = stop - start
    left, weights = _places(count)
    first, last = sums.sums[start], sums.sums[stop]
    apart = sums.sums[start + _SHORTEST : stop - _SHORTEST + 1] - first - left * ((last - first) / count)
    best = start + _SHORTEST + int((apart * apart * weights).argmax())
    return best, sums.strength(start, best, stop)


@lru_cache(maxsize=256)
def _places(count: int) -> tuple[Values, Values]:
    """Positions of a cut among `count` points, and the weight of the squared sum before each."""
    left = np.arange(_SHORTEST, count - _SHORTEST + 1, dtype=float)
    return left, 1 / (left * (count - left))


@lru_cache(maxsize=8192)
def _needed(count: int, p: float) -> float:
    """Strength of a cut among `count` points whose p-value would be `p` if the cut were chosen beforehand."""
    from scipy import special  # noqa: PLC0415 - half a second to load, for series with candidates alone

    return count * math.log1p(float(special.stdtrit(count - 2, 1 - p / 2)) ** 2 / (count - 2))


def _student(strength: float, count: int) -> float:
    from scipy import special  # noqa: PLC0415 - half a second to load, for series with candidates alone

    return 2 * float(special.stdtr(count - 2, -math.sqrt((count - 2) * math.expm1(strength / count))))


def _join_segments(sums: _Sums, cuts: list[int], count: int) -> list[tuple[int, int, int]]:
    """The cuts that remain, each as (start of the left segment, cut, stop of the right segment).

    The weakest cuts are removed first.
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
    """How far a cut's strength exceeds the needed one; negative also if its step is too small."""
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
    judged: JudgedCuts,
) -> Step:
    left, cut, right = joined
    loss = likelihoods(
        rest[start:stop], cut - start, [other for other in judged.kept if other != cut - start], judged
    )
    near = start + np.flatnonzero(loss <= RANGE)
    index = left + place_cut(logs[left:right], cut - left)
    return Step(
        index=index,
        size=sums.size(left, cut, right),
        p=_student(sums.strength(left, cut, right), right - left),
        first=max(1, min(int(near[0]), index) - MARGIN),
        last=min(len(logs) - 1, max(int(near[-1]), index) + MARGIN),
    )


def place_cut(values: Values, cut: int) -> int:
    """The cut nearby with the least absolute deviations from both levels.

    Winsorizing rounds the edge of a step.
    """
    low, high = float(np.median(values[:cut])), float(np.median(values[cut:]))
    gain = np.cumsum(np.abs(values - high) - np.abs(values - low))
    nearby = np.arange(max(1, cut - WINSORIZING_REACH), min(len(values) - 1, cut + WINSORIZING_REACH) + 1)
    return int(nearby[np.argmax(gain[nearby - 1])])
