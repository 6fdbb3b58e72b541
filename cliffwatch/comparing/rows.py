"""Rows of a comparison: one metric of one case, with the values of both sides."""

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cliffwatch.columns import Columns, Places, Readings, RowKey, Values
from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.thresholds import Method
from cliffwatch.samples import CaseKey, MetricTraits, Mode, Observed

Traits = Callable[[CaseKey, str, str, Mode | None], MetricTraits]
"""Gives the traits of a case, metric, unit and mode."""


class Side(NamedTuple):
    """One side of a row, one value per boot: `values[first:last]` of its columns; may be empty."""

    columns: Columns
    first: int
    last: int

    @property
    def values(self) -> Values:
        return self.columns.values[self.first : self.last]

    @property
    def resolutions(self) -> Values:
        return self.columns.resolutions[self.first : self.last]

    @property
    def places(self) -> Places:
        """Index of each boot among the boots of the arm."""
        return self.columns.places[self.first : self.last]

    @property
    def readings(self) -> Sequence[Readings]:
        """Readings of each boot; empty if no boot of the arm has readings."""
        readings = self.columns.readings
        return () if readings is None else readings[self.first : self.last]

    @property
    def boots(self) -> int:
        return self.last - self.first

    def spread(self) -> float | None:
        """Standard deviation as a fraction of the mean.

        None unless there are two values and all are positive.
        """
        values, count = self.values.tolist(), self.boots
        if count < 2 or not 0 < min(values) <= max(values) < math.inf:
            return None
        largest = max(values)
        shares = [value / largest for value in values]
        mean = math.fsum(shares) / count
        return math.sqrt(math.fsum((share - mean) ** 2 for share in shares) / (count - 1)) / mean

    def centre(self) -> float | None:
        """The median; None if there are no values or it is not finite."""
        if self.first == self.last:
            return None
        centre = statistics.median(self.values.tolist())
        return centre if math.isfinite(centre) else None

    def largest_step(self) -> float:
        """Largest step of the boots' printed digits, as a fraction of the value; 0 without boots."""
        return float((self.resolutions / self.values).max(initial=0.0))


class Row(NamedTuple):
    """A metric of a case, with one value per boot and side."""

    case: CaseKey
    metric: str
    unit: str
    traits: MetricTraits
    base: Side
    head: Side
    other_unit: str | None = None
    """Unit of the other side, if it differs."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the values."""
    observed: Observed = "boot"
    """What each value is of."""


def rows_of(base: Columns, head: Columns, traits: Traits, mode: Mode | None) -> Iterable[Row]:
    """Every metric that either side measured, in the order of the plan."""
    ours, theirs = _sides(base), _sides(head)
    nothing, nothing_either = Side(base, 0, 0), Side(head, 0, 0)
    units = {} if ours.keys() == theirs.keys() else _units([*ours, *theirs])
    for key in dict.fromkeys([*ours, *theirs]):
        case, metric, unit = key
        mine, other = ours.get(key), theirs.get(key)
        elsewhere = None if mine and other else units.get((case, metric), {unit}) - {unit}
        yield Row(
            case,
            metric,
            unit,
            traits(case, metric, unit, mode),
            mine or nothing,
            other or nothing_either,
            next(iter(elsewhere or ()), None),
        )


def _sides(columns: Columns) -> Mapping[RowKey, Side]:
    starts = columns.starts.tolist()
    return {
        key: Side(columns, first, last)
        for key, first, last in zip(columns.keys, starts[:-1], starts[1:], strict=True)
    }


def _units(keys: Iterable[RowKey]) -> dict[tuple[CaseKey, str], set[str]]:
    units: dict[tuple[CaseKey, str], set[str]] = {}
    for case, metric, unit in keys:
        units.setdefault((case, metric), set()).add(unit)
    return units


def join_columns(rows: Sequence[Row]) -> Sequence[Row]:
    """Puts the bases of several pairs of arms into one set of columns, and the heads into another.

    Computations over many rows at once need that.
    """
    bases, heads = _join_sides([row.base for row in rows]), _join_sides([row.head for row in rows])
    return [row._replace(base=base, head=head) for row, base, head in zip(rows, bases, heads, strict=True)]


def _join_sides(sides: Sequence[Side]) -> Sequence[Side]:
    tables = {id(side.columns): side.columns for side in sides}
    if len(tables) < 2:
        return sides
    first, *others = tables.values()
    joined = first.followed_by(others)
    ends = np.cumsum([0, *(len(each.values) for each in tables.values())]).tolist()
    begins = dict(zip(tables, ends, strict=False))
    return [
        Side(joined, side.first + begins[id(side.columns)], side.last + begins[id(side.columns)])
        for side in sides
    ]


class Block(NamedTuple):
    """Rows with equal numbers of boots."""

    numbers: NDArray[np.intp]
    """Index of each row, (rows,)."""
    places: Places
    """Index of each value in the columns, (rows, boots)."""


def blocks_of(sides: Sequence[Side]) -> Iterator[Block]:
    """Groups sides that share columns by their number of boots."""
    first = np.array([side.first for side in sides], dtype=np.intp)
    counts = np.array([side.last for side in sides], dtype=np.intp) - first
    for count in sorted(set(counts.tolist())):
        numbers = np.flatnonzero(counts == count)
        yield Block(numbers, first[numbers][:, None] + np.arange(count))


def largest_steps(rows: Sequence[Row]) -> list[float]:
    """For each row: the largest step of its boots' printed digits, as a fraction of the value."""
    steps = np.zeros(len(rows))
    for sides in ([row.base for row in rows], [row.head for row in rows]):
        for block in blocks_of(sides):
            columns = sides[0].columns
            shares = columns.resolutions[block.places] / columns.values[block.places]
            steps[block.numbers] = np.maximum(steps[block.numbers], shares.max(axis=1, initial=0.0))
    found: list[float] = steps.tolist()
    return found


def blank(row: Row, platform: str | None, mode: Mode | None, method: Method) -> Comparison:
    """The row's comparison before its values are examined: what is compared, and how."""
    traits = row.traits
    return Comparison(
        suite=row.case.suite,
        benchmark=row.case.benchmark,
        params=dict(row.case.params),
        metric=row.metric,
        unit=row.unit,
        better=traits.better,
        primary=traits.primary,
        platform=platform,
        mode=mode,
        threshold=method.threshold(traits.assume, traits.repeatability),
        spreads=(row.base.spread, row.head.spread),
        interval_level=method.interval_level(traits.assume),
        n_base=row.base.boots,
        n_head=row.head.boots,
        base=None,
        head=None,
        change=None,
        ci_low=None,
        ci_high=None,
        p=None,
        q=None,
        mde=None,
        verdict="missing",
        reason="",
        needs=None,
        notes=row.notes,
    )
