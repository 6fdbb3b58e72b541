"""The size of a change in words."""

from typing import Protocol

from cliffwatch.reports import figures


class Sized(Protocol):
    """A change with a size.

    `size` is a fraction of base. It is None for a change from or to zero; then both values are set.
    """

    @property
    def size(self) -> float | None: ...
    @property
    def base_value(self) -> float | None: ...
    @property
    def head_value(self) -> float | None: ...
    @property
    def unit(self) -> str: ...


def change_words(change: Sized) -> str:
    """Returns `+4.91 %`, or `0 to 2 B/op` for a change without a percentage."""
    if change.size is not None:
        return figures.percent(change.size)
    return figures.step_words(change.base_value, change.head_value, change.unit)
