"""Layouts: a kernel's boots in one layout are one observation, their mean.

Where code lies is drawn once for an image, and all boots of that image share the luck of the draw. So a
kernel measured in several layouts is compared by their means, as boots are by the means of their readings.

Sources: Mytkowicz et al., Producing Wrong Data Without Doing Anything Obviously Wrong, ASPLOS 2009; Kalibera
and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013: repetition at the level where the variance is.
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from cliffwatch.columns import BootTable, Columns
from cliffwatch.comparing.comparison import Comparison
from cliffwatch.comparing.rows import Row, Side
from cliffwatch.comparing.thresholds import LAYOUT_P
from cliffwatch.formats.setup import MOST_ASKED_LAYOUTS
from cliffwatch.samples import Arm, Boot, Stage
from cliffwatch.stats.noise.layouts import LayoutSpread, layout_spread


def count_layouts(boots: Sequence[Boot]) -> int:
    """Returns how many layouts the boots of the screen had; 1 if none is known."""
    return max(1, len({boot.layout for boot in boots if boot.stage == "screen"} - {None}))


def count_observed(arms: Sequence[Arm], stage: Stage) -> int:
    """Returns how many values `by_layout` leaves each arm in a stage, of the arm with fewest."""
    several = any(len({boot.layout for boot in arm.boots} - {None}) > 1 for arm in arms)
    staged = [[boot for boot in arm.boots if boot.stage == stage] for arm in arms]
    if not several:
        return min(map(len, staged))
    return min(map(_count_values, arms, staged))


def _count_values(arm: Arm, boots: Sequence[Boot]) -> int:
    known = any(boot.layout is not None for boot in arm.boots)
    return len({boot.index if known and boot.layout is None else boot.layout for boot in boots})


def by_layout(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows with one value per layout, where a side has several layouts: the geometric mean of its boots.

    Boots of unknown layout stay values of their own, unless no boot of their arm has one: then all lie where
    the linker put them, in one layout. Boots of the two stages are not mixed.
    """
    grouped: dict[int, Columns] = {}
    return [_row_by_layout(row, grouped) if _has_layouts(row) else row for row in rows]


def _has_layouts(row: Row) -> bool:
    return any(len(_layouts(side) - {None}) > 1 for side in (row.base, row.head))


def _layouts(side: Side) -> set[str | None]:
    known = side.columns.boots.layouts
    return {known[place] for place in side.places.tolist()} if known else set()


def _row_by_layout(row: Row, grouped: dict[int, Columns]) -> Row:
    return row._replace(
        base=_side_by_layout(row.base, grouped), head=_side_by_layout(row.head, grouped), observed="layout"
    )


def _side_by_layout(side: Side, grouped: dict[int, Columns]) -> Side:
    columns = side.columns
    if id(columns) not in grouped:
        grouped[id(columns)] = _columns_by_layout(columns)
    number = int(np.searchsorted(columns.starts, side.first, side="right")) - 1
    first, last = grouped[id(columns)].starts[number : number + 2].tolist()
    return Side(grouped[id(columns)], first, last if side.boots else first)


def _columns_by_layout(columns: Columns) -> Columns:
    boots = columns.boots
    several = bool(boots.layouts)
    labels = [
        (number if several and layout is None else layout, confirms)
        for number, (layout, confirms) in enumerate(
            zip(boots.layouts or (None,) * len(boots.index), boots.confirms.tolist(), strict=True)
        )
    ]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    of_boot = np.array([numbers[label] for label in labels], dtype=np.intp)
    first_boot = np.unique(of_boot, return_index=True)[1]
    keys = columns.row_of_values() * max(1, len(numbers)) + of_boot[columns.places]
    groups, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    # Rows that no family takes may have any value.
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(columns.values)
    rows, places = np.divmod(groups, max(1, len(numbers)))
    resolutions = np.zeros(len(groups))
    np.maximum.at(resolutions, inverse, columns.resolutions)
    return Columns(
        boots=BootTable(
            index=boots.index[first_boot],
            block=boots.block[first_boot],
            confirms=boots.confirms[first_boot],
            layouts=tuple(str(label) for label, _ in numbers),
        ),
        keys=columns.keys,
        starts=np.searchsorted(rows, np.arange(len(columns.keys) + 1)),
        values=np.exp(np.bincount(inverse, weights=logs, minlength=len(groups)) / counts),
        resolutions=resolutions,
        places=places,
    )


def with_spread(judged: Comparison, row: Row, grouped: Row) -> Comparison:
    """The comparison of layouts with what layouts and boots spread by, and how many boots it needs.

    `row` has one value per boot, `grouped` one per layout.
    """
    sides = (row.base, row.head)
    spreads = [seen for side in sides if (seen := layout_spread(_logs_by_layout(side))) is not None]
    needs = None if judged.needs is None else _in_own_layouts(judged.needs, sides, spreads)
    possible = needs is None or needs <= MOST_ASKED_LAYOUTS
    return replace(
        judged,
        spreads=(grouped.base.spread, grouped.head.spread),
        needs=needs if possible else None,
        notes=(*judged.notes, *_spread_words(spreads), *_needs_words(needs, possible=possible)),
    )


def _in_own_layouts(layouts: int, sides: Sequence[Side], spreads: Sequence[LayoutSpread]) -> int:
    """Returns how many boots, each in its own layout, tell as much as `layouts` of several boots."""
    each = max(side.boots / max(1, len(_layouts(side))) for side in sides)
    factors = [
        (seen.layout**2 + seen.boot**2) / (seen.layout**2 + seen.boot**2 / each)
        for seen in spreads
        if seen.layout or seen.boot
    ]
    return math.ceil(layouts * max(factors, default=1.0))


def _needs_words(needs: int | None, *, possible: bool) -> Sequence[str]:
    if needs is None:
        return ()
    if not possible:
        return (f"needs more than {MOST_ASKED_LAYOUTS} layouts of each kernel, the most that a run has",)
    return (f"needs a layout for each boot: --boots {needs} --layouts {needs}",)


def _spread_words(spreads: Sequence[LayoutSpread]) -> Sequence[str]:
    certain = [seen for seen in spreads if seen.p <= LAYOUT_P]
    if not certain:
        return ()
    most = max(certain, key=lambda seen: seen.layout)
    return (f"spread {most.layout:.1%} between layouts, {most.boot:.1%} between boots of one layout",)


def _logs_by_layout(side: Side) -> Sequence[Sequence[float]]:
    known = side.columns.boots.layouts
    layouts: dict[str, list[float]] = {}
    for place, value in zip(side.places.tolist(), side.values.tolist(), strict=True):
        layout = known[place] if known else None
        if layout is not None and value > 0:
            layouts.setdefault(layout, []).append(math.log(value))
    return list(layouts.values())
