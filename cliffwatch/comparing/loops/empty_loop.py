"""Rows less the empty loop of their benchmark: the cost of an operation without the benchmark around it.

A benchmark that names its empty loop runs in the same boots as that loop, so times are subtracted boot by
boot. Disturbances that affect both cancel; the rest is in the spread of the differences.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cliffwatch.columns import Places, Readings, RowKey, Values
from cliffwatch.comparing.comparison import LESS_LOOP
from cliffwatch.comparing.rows import Row, Side
from cliffwatch.samples import CaseKey

_TIME = re.compile(r"(ns|us|µs|ms|s|sec|insns)/.*")
_PERCENTILE = re.compile(r"(.*-)?p\d+(\.\d+)?")


class _Difference(NamedTuple):
    """One side of a row less that of its loop: a value for each boot that has both."""

    values: Values
    resolutions: Values
    places: Places
    readings: Sequence[Readings]


def loop_among(case: CaseKey, loop: str, others: Iterable[CaseKey]) -> CaseKey | None:
    """The case that runs the empty loop of `case`; None without one.

    It is of the benchmark `loop` in the same suite and has no parameter that `case` lacks. Of several, the
    one that shares the most parameters.
    """
    if not loop:
        return None
    own = set(case.params)
    fit = [
        each
        for each in others
        if (each.suite, each.benchmark) == (case.suite, loop) and own.issuperset(each.params)
    ]
    return max(fit, key=lambda each: len(each.params), default=None)


def with_rows_less_loops(rows: Sequence[Row]) -> Sequence[Row]:
    """Adds to each time of an operation a row less its empty loop.

    The benchmark must name an empty loop that both sides measured. Percentiles are left out, because those of
    a difference are not the difference of percentiles. Rates are left out, because they do not add up.
    """
    loops = _loops(rows)
    if not loops:
        return rows
    pairs = [(rows[number], rows[loop]) for number, loop in loops.items()]
    keys = [RowKey(row.case, f"{row.metric}{LESS_LOOP}", row.unit) for row, _ in pairs]
    base, base_less = _extend_sides(
        [row.base for row in rows], keys, [_less(row.base, loop.base) for row, loop in pairs]
    )
    head, head_less = _extend_sides(
        [row.head for row in rows], keys, [_less(row.head, loop.head) for row, loop in pairs]
    )
    less = {
        number: _row_less(row, loop, mine, theirs)
        for number, (row, loop), mine, theirs in zip(loops, pairs, base_less, head_less, strict=True)
    }
    return [
        each
        for number, row in enumerate(rows)
        for each in (row._replace(base=base[number], head=head[number]), less.get(number))
        if each is not None
    ]


def _loops(rows: Sequence[Row]) -> dict[int, int]:
    """Index of the empty loop's row, by the index of the row it is subtracted from."""
    wanted = [number for number, row in enumerate(rows) if row.traits.empty_loop and _is_time(row)]
    if not wanted:
        return {}
    places = {
        (row.case, row.metric, row.unit): number for number, row in enumerate(rows) if _on_both_sides(row)
    }
    cases: dict[tuple[str, str], dict[CaseKey, None]] = {}
    for case, _, _ in places:
        cases.setdefault((case.suite, case.benchmark), {})[case] = None
    loops: dict[int, int] = {}
    for number in wanted:
        row = rows[number]
        name = row.traits.empty_loop
        loop = loop_among(row.case, name, cases.get((row.case.suite, name), ()))
        place = None if loop is None else places.get((loop, row.metric, row.unit))
        if place is not None and _on_both_sides(row):
            loops[number] = place
    return loops


def _is_time(row: Row) -> bool:
    return _TIME.fullmatch(row.unit) is not None and not _PERCENTILE.fullmatch(row.metric)


def _on_both_sides(row: Row) -> bool:
    return row.base.boots > 0 and row.head.boots > 0


def _less(side: Side, loop: Side) -> _Difference:
    """Subtracts boot by boot, over the boots that have both. Readings are paired in order."""
    _, mine, theirs = np.intersect1d(side.places, loop.places, assume_unique=True, return_indices=True)
    return _Difference(
        values=side.values[mine] - loop.values[theirs],
        resolutions=side.resolutions[mine] + loop.resolutions[theirs],
        places=side.places[mine],
        readings=[
            tuple(
                one - other
                for one, other in zip(_readings(side, first), _readings(loop, second), strict=False)
            )
            for first, second in zip(mine.tolist(), theirs.tolist(), strict=True)
        ],
    )


def _readings(side: Side, boot: int) -> Readings:
    return side.readings[boot] if side.readings else ()


def _extend_sides(
    sides: Sequence[Side], keys: Sequence[RowKey], added: Sequence[_Difference]
) -> tuple[list[Side], list[Side]]:
    """The sides in columns extended by the added rows, and the sides of the added rows."""
    columns = sides[0].columns
    ends = np.cumsum([len(columns.values), *(len(each.values) for each in added)])
    readings = columns.readings
    if readings is not None:
        readings = [*readings, *(of_boot for each in added for of_boot in each.readings)]
    longer = columns._replace(
        keys=(*columns.keys, *keys),
        starts=np.concatenate([columns.starts, ends[1:]]),
        values=np.concatenate([columns.values, *(each.values for each in added)]),
        resolutions=np.concatenate([columns.resolutions, *(each.resolutions for each in added)]),
        places=np.concatenate([columns.places, *(each.places for each in added)]),
        readings=readings,
    )
    begins_and_ends = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    return [side._replace(columns=longer) for side in sides], [
        Side(longer, *each) for each in begins_and_ends
    ]


def _row_less(row: Row, loop: Row, base: Side, head: Side) -> Row | None:
    """The row less its loop; None if a side has no boot with both."""
    if not base.boots or not head.boots:
        return None
    repeatability = max(
        _repeatability((row.traits.repeatability, side), (loop.traits.repeatability, of_loop), left)
        for side, of_loop, left in ((row.base, loop.base, base), (row.head, loop.head, head))
    )
    traits = replace(row.traits, primary=False, empty_loop="", repeatability=repeatability)
    return row._replace(metric=f"{row.metric}{LESS_LOOP}", traits=traits, base=base, head=head, notes=())


def _repeatability(whole: tuple[float, Side], loop: tuple[float, Side], left: Side) -> float:
    """Repeatability of the difference, as a fraction of it: the sum of both absolute ones."""
    rest = left.centre() or 0.0
    if rest <= 0:
        return 0.0  # nothing is said of such a row
    return sum(known * (side.centre() or 0.0) for known, side in (whole, loop)) / rest
