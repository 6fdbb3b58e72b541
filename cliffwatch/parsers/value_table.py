"""The values of an output in columns: what `Value` says of each, without an object for each."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from cliffwatch.parsers.readings import Value


class ValueRow(NamedTuple):
    """What all values of a row share, see `Value`."""

    arm: str
    suite: str | None
    benchmark: str
    params: Mapping[str, str]
    metric: str
    unit: str


class ValueTable(Sequence[Value]):
    """Values of which neither boot nor readings are known. Row r has those from `starts[r]` to `starts[r + 1]`; `order`, (values,), says
    where each stands among all values of the output. Made into objects where somebody asks for one.
    """

    def __init__(
        self,
        rows: Sequence[ValueRow],
        starts: NDArray[np.intp],
        values: NDArray[np.float64],
        resolutions: NDArray[np.float64],
        order: NDArray[np.intp],
    ) -> None:
        self.rows, self.starts, self.values, self.resolutions, self.order = rows, starts, values, resolutions, order

    @cached_property
    def _values(self) -> tuple[Value, ...]:
        row_of = np.repeat(np.arange(len(self.rows)), np.diff(self.starts)).tolist()
        values, resolutions = self.values.tolist(), self.resolutions.tolist()
        return tuple(
            _value(self.rows[row_of[number]], values[number], resolutions[number])
            for number in np.argsort(self.order).tolist()
        )

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Value, ...]: ...
    def __getitem__(self, index: int | slice) -> Value | tuple[Value, ...]:
        return self._values[index]

    def __iter__(self) -> Iterator[Value]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._values == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as of anything that holds arrays

    def __repr__(self) -> str:
        return repr(self._values)


def _value(row: ValueRow, value: float, resolution: float) -> Value:
    return Value(row.suite, row.benchmark, row.metric, row.unit, value, row.params, (), resolution, row.arm)
