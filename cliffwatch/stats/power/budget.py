"""Spends a time budget where it detects most: on layouts, on boots of each, or on readings of a boot.

A value is measured in three levels: readings of a boot, boots of a layout, layouts of a kernel. Each level
has its own variance and its own cost. More of a level that is cheap, or that varies much, detects more.

Source: Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013, sections 6 and 7. They
minimise the variance at a given cost; here the change that the test detects is minimised, because the test
loses power with few layouts.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

from cliffwatch.stats.power.detectable import detectable

_DURATIONS = (1, 2, 3, 5, 8, 12, 20, 30)
MOST_LAYOUTS = 100
"""Further layouts of a kernel."""
MOST_BOOTS = 999
"""Further boots of a kernel in one layout."""
_NOTHING = 1e6
"""Above the log of any shift."""
_MOST_BOOTS = 4
"""Most boots of a layout. A new layout costs less than a fifth boot and adds more."""


class Variances(NamedTuple):
    """Estimated variance components of a row, of logs.

    Differences of estimates: one that is near zero may be negative. Their sum is right on average, which the
    sum of positive parts is not.
    """

    layout: float
    """Between layouts."""
    boot: float
    """Between boots of one layout."""
    reading: float
    """Between readings of one boot; 0 if there is one reading per boot."""

    def of_layout(self, boots: int, readings: float) -> float:
        """Variance of a layout's mean: at least that of its readings."""
        of_readings = self.reading / readings / boots
        return max(of_readings, self.layout + self.boot / boots + of_readings)


class Costs(NamedTuple):
    """Seconds that all arms together take."""

    link: float
    """Linking one more layout of every kernel."""
    boot: float
    """One boot of every arm, without the seconds that its cases measure."""
    second: float
    """One more second of measuring in each case of these boots; 0 if their length is fixed."""

    def of_layout(self, boots: int, duration: int) -> float:
        return self.link + boots * (self.boot + self.second * duration)


class Repetitions(NamedTuple):
    """How often each level is repeated in each arm."""

    layouts: int
    boots: int
    """Boots of each layout."""
    duration: int
    """Seconds that a case measures in a boot."""


_SURE = 0.8

FIRST_STAGES = (Repetitions(5, 2, 0), Repetitions(4, 2, 0), Repetitions(3, 2, 0), Repetitions(2, 2, 0))
"""What a first stage may be: two boots of a layout tell its variance from that of boots."""
_FIRST_SHARE, _SHARE_OF_ONE = 0.5, 0.75
"""Largest share of the time for the first stage, with several rows and with one.

The median of several rows is predicted from fewer boots than a single row.
"""


def first_stage(seconds: float, costs: Costs, duration: int, rows: int) -> Repetitions:
    """Returns the first stage of a plan of `seconds` for `rows` rows, whose cases measure for `duration`.

    The shortest if there is no time for it.
    """
    most = seconds * (_SHARE_OF_ONE if rows == 1 else _FIRST_SHARE)
    stages = [each._replace(duration=duration) for each in FIRST_STAGES]
    fitting = (each for each in stages if each.layouts * costs.of_layout(each.boots, duration) <= most)
    return next(fitting, stages[-1])


def estimate_variances(
    arms: Sequence[Sequence[Sequence[float]]], reading: float, readings: float
) -> Variances:
    """Estimates the variance components of a row.

    `arms` holds for each arm and layout the logs of its boots. `reading` is the variance between readings of
    a boot, of which each boot has `readings`. Without two boots of any layout, all variance is one of boots.
    """
    layouts = [layout for arm in arms for layout in arm]
    freedom = sum(len(layout) - 1 for layout in layouts)
    inner = sum(_squares(layout) for layout in layouts) / freedom if freedom else 0.0
    outer_freedom = sum(len(arm) - 1 for arm in arms if arm)
    means = [[math.fsum(layout) / len(layout) for layout in arm] for arm in arms]
    outer = sum(map(_squares, means)) / outer_freedom if outer_freedom else 0.0
    if not freedom:
        return Variances(layout=0.0, boot=outer - reading / readings, reading=reading)
    boots = len(layouts) / sum(1 / len(layout) for layout in layouts)
    return Variances(layout=outer - inner / boots, boot=inner - reading / readings, reading=reading)


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values) if values else 0.0
    return math.fsum((value - mean) ** 2 for value in values)


def _chi_square(freedom: int, share: float) -> float:
    """A quantile, after Wilson and Hilferty (1931)."""
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + NormalDist().inv_cdf(share) * math.sqrt(part)) ** 3)


def most_further(in_layouts: bool) -> int:
    """Returns the most layouts that are added to a first stage, or boots if each kernel has one layout."""
    return MOST_LAYOUTS if in_layouts else MOST_BOOTS


class Budget(NamedTuple):
    """What is known after the first stage of a plan with a time budget."""

    rows: Sequence[Variances]
    """Of the rows whose changes are reported."""
    alpha: float
    """Two-sided error of a row."""
    done: Repetitions
    """The first stage."""
    rate: float
    """Readings per second of measuring."""
    costs: Costs
    in_layouts: bool = True
    """False if each kernel has one layout: then a boot takes the place of a layout, and none has several."""

    def detectable(self, further: Repetitions) -> list[float | None]:
        """For each row: the smallest shift (log) that is detected once `further` layouts are done.

        None if there are too few layouts to report any change.
        """
        count = self.done.layouts + further.layouts
        unit = detectable(1.0, count, count, self.alpha)
        if unit is None:
            return [None] * len(self.rows)
        return [unit * math.sqrt(self._variance(row, further)) for row in self.rows]

    def doubt(self, arms: int) -> tuple[float, float]:
        """Returns multiples of the stated change. That of one row lies between them in four of five runs.

        Layouts of all `arms` estimate its spread, and are few. Their luck is taken as normal.
        """
        freedom = arms * max(1, self.done.layouts - 1)
        low, high = (_chi_square(freedom, share) for share in ((1 - _SURE) / 2, (1 + _SURE) / 2))
        return math.sqrt(freedom / high), math.sqrt(freedom / low)

    def _variance(self, row: Variances, further: Repetitions) -> float:
        """Mean variance of the layouts of both stages."""
        both = [
            each.layouts * row.of_layout(each.boots, self.rate * each.duration)
            for each in (self.done, further)
        ]
        return sum(both) / (self.done.layouts + further.layouts)

    def spend(self, seconds: float) -> Repetitions:
        """Returns what detects most in the time that is left; no layout if there is no time for one.

        The length of a boot's readings stays if their number makes no difference.
        """
        possible = [each for each in self._possible(seconds) if each.layouts]
        if not possible:
            return Repetitions(layouts=0, boots=1, duration=self.done.duration)
        return min(possible, key=lambda each: (self._typical(each), each.duration != self.done.duration))

    def _possible(self, seconds: float) -> Iterator[Repetitions]:
        varies = self.costs.second > 0 and any(row.reading for row in self.rows)
        for duration in (*_DURATIONS, self.done.duration) if varies else (self.done.duration,):
            for boots in range(1, _MOST_BOOTS + 1 if self.in_layouts else 2):
                layouts = min(
                    most_further(self.in_layouts),
                    int(max(0.0, seconds) // self.costs.of_layout(boots, duration)),
                )
                yield Repetitions(layouts=layouts, boots=boots, duration=duration)

    def _typical(self, further: Repetitions) -> float:
        """The mean log of what the rows detect. If they detect nothing, more layouts come nearer to it."""
        shifts = [shift for shift in self.detectable(further) if shift]
        if not shifts:
            return _NOTHING - further.layouts
        return math.fsum(map(math.log, shifts)) / len(shifts)
