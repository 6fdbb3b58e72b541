"""What an arm measured, in columns: an array for all values of all rows, with boots as an index. Comparisons
work on these.

A row is one metric of one case. Boots with samples are made of columns, and columns of boots, where
somebody asks for them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome, Sample

Values = NDArray[np.float64]
Places = NDArray[np.intp]
Readings = tuple[float, ...]


class RowKey(NamedTuple):
    """What a row measures."""

    case: CaseKey
    metric: str
    unit: str


@dataclass(frozen=True, slots=True)
class BootTable:
    """The boots of an arm, (boots,) each: see `Boot`. `layouts` is empty where no boot has one."""

    index: NDArray[np.int_]
    block: NDArray[np.int_]
    confirms: NDArray[np.bool_]
    layouts: tuple[str | None, ...]


class Columns(NamedTuple):
    """Values of many rows as arrays. Row r has values[starts[r]:starts[r + 1]], one per boot in
    boot order.
    """

    boots: BootTable
    keys: Sequence[RowKey]
    starts: Places
    """(rows + 1,)"""
    values: Values
    """(values,)"""
    resolutions: Values
    """(values,): smallest step of the printed digits, see `Sample`."""
    places: Places
    """(values,): index of each value's boot in `boots`."""
    readings: Sequence[Readings] | None = None
    """Within-boot readings of each value; None if no value has any."""

    def kept(self, chosen: NDArray[np.bool_]) -> "Columns":
        """The same rows with the chosen values, (values,), alone."""
        if chosen.all():
            return self
        before = np.concatenate([[0], np.cumsum(chosen)])
        readings = self.readings
        return Columns(
            boots=self.boots,
            keys=self.keys,
            starts=before[self.starts],
            values=self.values[chosen],
            resolutions=self.resolutions[chosen],
            places=self.places[chosen],
            readings=(
                None if readings is None else [readings[value] for value in np.flatnonzero(chosen).tolist()]
            ),
        )

    def followed_by(self, others: Sequence["Columns"]) -> "Columns":
        """Those of further arms after these: their rows and their boots come later, so that no place means
        two of them.
        """
        arms = (self, *others)
        values = np.cumsum([0, *(len(arm.values) for arm in arms)])
        boots = np.cumsum([0, *(len(arm.boots.index) for arm in arms)])
        any_layouts = any(arm.boots.layouts for arm in arms)
        return Columns(
            boots=BootTable(
                index=np.concatenate([arm.boots.index for arm in arms]),
                block=np.concatenate([arm.boots.block for arm in arms]),
                confirms=np.concatenate([arm.boots.confirms for arm in arms]),
                layouts=(
                    tuple(
                        each for arm in arms for each in arm.boots.layouts or (None,) * len(arm.boots.index)
                    )
                    if any_layouts
                    else ()
                ),
            ),
            keys=[key for arm in arms for key in arm.keys],
            starts=np.concatenate(
                [*(arm.starts[:-1] + first for arm, first in zip(arms, values, strict=False)), values[-1:]]
            ),
            values=np.concatenate([arm.values for arm in arms]),
            resolutions=np.concatenate([arm.resolutions for arm in arms]),
            places=np.concatenate([arm.places + first for arm, first in zip(arms, boots, strict=False)]),
            readings=(
                [each for arm in arms for each in arm.readings or [()] * len(arm.values)]
                if any(arm.readings is not None for arm in arms)
                else None
            ),
        )

    def row_of_values(self) -> Places:
        """The row of each value, (values,)."""
        return np.repeat(np.arange(len(self.keys)), np.diff(self.starts))


class BootsOfColumns(Sequence[Boot]):
    """Boots of columns; they are made when one of them is looked at.

    `order` is the place of each value, (values,), among the samples of its boot; `outcomes` are those of
    each boot, none where they are not known.
    """

    def __init__(
        self, columns: Columns, order: Places, outcomes: Sequence[tuple[CaseOutcome, ...]] = ()
    ) -> None:
        self.columns = columns
        self.outcomes = outcomes
        self._order = order

    @cached_property
    def _boots(self) -> tuple[Boot, ...]:
        columns, boots = self.columns, self.columns.boots
        rows = columns.row_of_values().tolist()
        values, resolutions = columns.values.tolist(), columns.resolutions.tolist()
        samples: list[list[Sample]] = [[] for _ in range(len(self))]
        for number in np.argsort(self._order, kind="stable").tolist():
            key = columns.keys[rows[number]]
            sample = Sample(
                case=key.case,
                metric=key.metric,
                unit=key.unit,
                value=values[number],
                readings=() if columns.readings is None else columns.readings[number],
                resolution=resolutions[number],
            )
            samples[int(columns.places[number])].append(sample)
        layouts = boots.layouts or (None,) * len(self)
        outcomes = self.outcomes or ((),) * len(self)
        return tuple(
            Boot(
                index=index,
                block=block,
                samples=tuple(of_boot),
                outcomes=ended,
                stage="confirm" if late else "screen",
                layout=layout,
            )
            for index, block, of_boot, ended, late, layout in zip(
                boots.index.tolist(),
                boots.block.tolist(),
                samples,
                outcomes,
                boots.confirms.tolist(),
                layouts,
                strict=True,
            )
        )

    def with_cases(self, renamed: Callable[[CaseKey], CaseKey]) -> "BootsOfColumns":
        keys = [key._replace(case=renamed(key.case)) for key in self.columns.keys]
        outcomes = tuple(_renamed_outcomes(each, renamed) for each in self.outcomes)
        return BootsOfColumns(self.columns._replace(keys=keys), self._order, outcomes)

    def followed_by_boots(self, count: int, outcomes: Sequence[tuple[CaseOutcome, ...]]) -> "BootsOfColumns":
        """These boots and `count` more that measured nothing, with the outcomes of all."""
        table = self.columns.boots
        more = np.arange(1, count + 1)
        boots = BootTable(
            index=np.concatenate([table.index, table.index.max(initial=0) + more]),
            block=np.concatenate([table.block, table.block.max(initial=0) + more]),
            confirms=np.concatenate([table.confirms, np.zeros(count, dtype=bool)]),
            layouts=(*table.layouts, *(None,) * count) if table.layouts else (),
        )
        return BootsOfColumns(self.columns._replace(boots=boots), self._order, outcomes)

    def __len__(self) -> int:
        return len(self.columns.boots.index)

    @overload
    def __getitem__(self, index: int) -> Boot: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Boot, ...]: ...
    def __getitem__(self, index: int | slice) -> Boot | tuple[Boot, ...]:
        return self._boots[index]

    def __iter__(self) -> Iterator[Boot]:
        return iter(self._boots)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._boots == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as of anything that holds arrays

    def __repr__(self) -> str:
        return repr(self._boots)


def rename_cases(arm: Arm, renamed: Callable[[CaseKey], CaseKey]) -> Arm:
    """The arm with its cases renamed, wherever it names them."""
    return replace(
        arm,
        boots=_renamed_boots(arm.boots, renamed),
        unchanged=_renamed_outcomes(arm.unchanged, renamed),
        lost={(renamed(case), metric): why for (case, metric), why in arm.lost.items()},
    )


def _renamed_boots(boots: Sequence[Boot], renamed: Callable[[CaseKey], CaseKey]) -> Sequence[Boot]:
    if isinstance(boots, BootsOfColumns):
        return boots.with_cases(renamed)
    return tuple(
        replace(
            boot,
            samples=tuple(each._replace(case=renamed(each.case)) for each in boot.samples),
            outcomes=_renamed_outcomes(boot.outcomes, renamed),
        )
        for boot in boots
    )


def _renamed_outcomes(
    outcomes: tuple[CaseOutcome, ...], renamed: Callable[[CaseKey], CaseKey]
) -> tuple[CaseOutcome, ...]:
    return tuple(replace(each, case=renamed(each.case)) for each in outcomes)


def outcomes_of(boots: Sequence[Boot]) -> Iterator[CaseOutcome]:
    """How the cases of all boots ended."""
    for of_boot in _outcomes(boots):
        yield from of_boot


def bad_outcomes_of(boots: Sequence[Boot]) -> Iterator[CaseOutcome]:
    """Those that are not ok. Boots in which all is well share their outcomes as a rule, which are looked
    through once then.
    """
    good: tuple[CaseOutcome, ...] | None = None
    for of_boot in _outcomes(boots):
        if of_boot is good:
            continue
        bad = [outcome for outcome in of_boot if outcome.status != "ok"]
        good = good if bad else of_boot
        yield from bad


def _outcomes(boots: Sequence[Boot]) -> Iterable[tuple[CaseOutcome, ...]]:
    return boots.outcomes if isinstance(boots, BootsOfColumns) else (boot.outcomes for boot in boots)


def columns_of(boots: Sequence[Boot]) -> Columns:
    """The samples of an arm's boots, rows in the order in which they come first."""
    if isinstance(boots, BootsOfColumns):
        return boots.columns
    rows: dict[RowKey, int] = {}
    # Boots share the objects of their cases, and what an object is called is quicker to look up than what it
    # holds.
    known: dict[tuple[int, str, str], int] = {}
    numbers: list[int] = []
    samples: list[Sample] = []
    for boot in boots:
        samples += boot.samples
        for sample in boot.samples:
            quick = (id(sample.case), sample.metric, sample.unit)
            number = known.get(quick)
            if number is None:
                number = known[quick] = rows.setdefault(
                    RowKey(sample.case, sample.metric, sample.unit), len(rows)
                )
            numbers.append(number)
    row_of = np.array(numbers, dtype=np.intp)
    order = np.argsort(row_of, kind="stable")
    places = np.repeat(np.arange(len(boots)), np.array([len(boot.samples) for boot in boots], dtype=np.intp))
    any_readings = any(sample.readings for sample in samples)
    return Columns(
        boots=_boot_table(boots),
        keys=tuple(rows),
        starts=np.searchsorted(row_of[order], np.arange(len(rows) + 1)),
        values=np.array([sample.value for sample in samples], dtype=float)[order],
        resolutions=np.array([sample.resolution for sample in samples], dtype=float)[order],
        places=places[order],
        readings=[samples[number].readings for number in order.tolist()] if any_readings else None,
    )


def _boot_table(boots: Sequence[Boot]) -> BootTable:
    layouts = tuple(boot.layout for boot in boots)
    return BootTable(
        index=np.array([boot.index for boot in boots], dtype=int),
        block=np.array([boot.block for boot in boots], dtype=int),
        confirms=np.array([boot.stage == "confirm" for boot in boots], dtype=bool),
        layouts=layouts if any(layout is not None for layout in layouts) else (),
    )
