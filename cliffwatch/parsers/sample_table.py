"""The samples of an output as arrays, without one object per sample."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from cliffwatch.parsers.readings import Found
from cliffwatch.samples import CaseKey, Sample


class SampleRow(NamedTuple):
    """What all samples of a row have in common; see `Found`."""

    arm: str
    case: CaseKey
    metric: str
    unit: str


class SampleTable(Sequence[Found]):
    """Samples without known boot or readings, as a sequence of `Found`.

    The objects are built on first access.

    The values of row r are `values[starts[r]:starts[r + 1]]`. `order`, (values,), is each value's position in
    the output.
    """

    def __init__(
        self,
        rows: Sequence[SampleRow],
        starts: NDArray[np.intp],
        values: NDArray[np.float64],
        resolutions: NDArray[np.float64],
        order: NDArray[np.intp],
    ) -> None:
        self.rows, self.starts, self.values, self.resolutions, self.order = (
            rows,
            starts,
            values,
            resolutions,
            order,
        )

    def with_arms(self, names: Mapping[str, str]) -> "SampleTable":
        """Renames arms. Names that are not in `names` stay."""
        rows = [row._replace(arm=names.get(row.arm, row.arm)) for row in self.rows]
        return SampleTable(rows, self.starts, self.values, self.resolutions, self.order)

    @cached_property
    def _found(self) -> tuple[Found, ...]:
        row_of = np.repeat(np.arange(len(self.rows)), np.diff(self.starts)).tolist()
        values, resolutions = self.values.tolist(), self.resolutions.tolist()
        return tuple(
            _make_found(self.rows[row_of[number]], values[number], resolutions[number])
            for number in np.argsort(self.order).tolist()
        )

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Found: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Found, ...]: ...
    def __getitem__(self, index: int | slice) -> Found | tuple[Found, ...]:
        return self._found[index]

    def __iter__(self) -> Iterator[Found]:
        return iter(self._found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._found == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # holds arrays, which are mutable

    def __repr__(self) -> str:
        return repr(self._found)


def _make_found(row: SampleRow, value: float, resolution: float) -> Found:
    return Found(
        Sample(case=row.case, metric=row.metric, unit=row.unit, value=value, resolution=resolution), row.arm
    )
