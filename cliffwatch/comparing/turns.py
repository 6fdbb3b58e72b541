"""Whether base and head were interleaved, and how the host drifted between them if they were not."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cliffwatch.catalogue.directions import is_timed
from cliffwatch.comparing.comparison import NOT_IN_TURNS
from cliffwatch.comparing.rows import Row, Side, blocks_of, largest_steps
from cliffwatch.comparing.thresholds import FEWEST_ALIKE, MOST_DRIFTING, MOVED_ALIKE, SEEN
from cliffwatch.comparing.validity import drifts_of_rows
from cliffwatch.counting import count_noun
from cliffwatch.stats.noise.drifts import is_interleaved

_MEDIAN_DISTANCE = 0.6745
"""Median distance from the centre in standard deviations, for normal noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonMovement:
    """A movement that nearly all times and rates share."""

    alike: int
    """Number of rows that moved the same way."""
    rows: int
    """Number of rows that could show it."""
    size: float
    """A log; positive is slower."""

    @property
    def words(self) -> str:
        """The size as text: `3 %`."""
        return f"{100 * abs(math.expm1(self.size)):.2g} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Order of the boots of two arms."""

    taken: bool
    """True if the arms were interleaved."""
    common: CommonMovement | None = None
    """Movement that the rows share; None if there is none or the arms were interleaved."""


def turns_of(rows: Sequence[Row], *, one_run: bool, notable: float) -> Turns:
    """The order of the boots that the noisy `rows` of two arms show.

    `notable` is the smallest common movement that is reported, as a fraction.
    """
    if not rows or (one_run and _took_turns(rows)):
        return Turns(taken=True)
    return Turns(taken=False, common=_common_movement([row for row in rows if row.traits.primary], notable))


def _took_turns(rows: Sequence[Row]) -> bool:
    """True if the boots of the arms are interleaved."""
    first, second = _positions([row.base for row in rows]), _positions([row.head for row in rows])
    if min(len(first), len(second)) > 1 and (first[-1] < second[0] or second[-1] < first[0]):
        return False
    order = np.concatenate([first, second]).astype(float)
    return is_interleaved(order, np.repeat([0.0, 1.0], [len(first), len(second)]))


def _positions(sides: Sequence[Side]) -> NDArray[np.int_]:
    """Positions of an arm's boots that have a value in any of its sides, sorted, without duplicates."""
    boots = sides[0].columns.boots.index
    seen = np.zeros(len(boots), dtype=bool)
    for block in blocks_of(sides):
        seen[sides[0].columns.places[block.places]] = True
    return np.array(sorted(set(boots[seen].tolist())), dtype=int)


def _common_movement(rows: Sequence[Row], notable: float) -> CommonMovement | None:
    """The common movement of the primary times and rates.

    Nearly all rows that can show it must move the same way, and the middle half of them by a similar size.
    """
    rows = [row for row in rows if is_timed(row.unit)]
    if len(rows) < FEWEST_ALIKE:
        return None
    moves, errors = (np.array(each) for each in zip(*map(_movement, rows), strict=True))
    steps = np.log1p(np.array(largest_steps(rows)))
    clear = (np.abs(moves) > steps) & (np.abs(moves) >= SEEN * errors)
    if not clear.any():
        return None
    able = (np.abs(moves) > steps) & (SEEN * errors <= abs(float(np.median(moves[clear]))))
    if able.sum() < FEWEST_ALIKE:
        return None
    seen = moves[able]
    low, middle, high = np.quantile(seen, (0.25, 0.5, 0.75))
    alike = int((seen * middle > 0).sum())
    if alike < MOVED_ALIKE * len(seen) or high - low > abs(middle) or abs(math.expm1(middle)) < notable:
        return None
    return CommonMovement(alike=alike, rows=len(seen), size=float(middle))


def _movement(row: Row) -> tuple[float, float]:
    """How much slower head is, a log, and the standard error of that by noise alone."""
    base, head = np.log(row.base.values), np.log(row.head.values)
    move = float(np.median(head) - np.median(base))
    spread = (
        np.median(np.abs(np.concatenate([base - np.median(base), head - np.median(head)]))) / _MEDIAN_DISTANCE
    )
    error = float(spread) * math.sqrt(1 / len(base) + 1 / len(head))
    return -move if row.traits.better == "higher" else move, error


def warnings_of_order(rows: Sequence[Row], turns: Turns) -> Iterator[str]:
    """Warnings that come first if the arms were not interleaved.

    `rows` are noisy rows with a known change.
    """
    primary = [row for row in rows if row.traits.primary]
    if turns.taken or not primary:
        return
    yield (
        f"{NOT_IN_TURNS}: drift of the host between them is part of each interval, and what does not exceed"
        " it is inconclusive. Measure both in one plan: cliffwatch run --base REV --head REV."
    )
    if turns.common is not None:
        common = turns.common
        timed = count_noun(common.rows, "time or rate", "times and rates")
        yield (
            f"{common.alike} of {timed} moved the same way by about {common.words}: a drift of the host looks"
            " like this, so this is one statement and no change of each row."
        )
    yield from _warn_of_drift(primary)


def _warn_of_drift(rows: Sequence[Row]) -> Iterator[str]:
    timed = [row for row in rows if is_timed(row.unit)]
    totals = [abs(math.expm1(each.total)) for each in drifts_of_rows(timed) if each is not None]
    if len(totals) > MOST_DRIFTING * len(timed):
        size = f"{100 * float(np.median(totals)):.2g} %"
        yield (
            f"{len(totals)} of {count_noun(len(timed), 'time or rate', 'times and rates')} drift by about"
            f" {size} while they are measured: the host was not steady."
        )
