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
    return figures.percent(change.size) if change.size is not None else step_words(change)


def step_words(change: Sized) -> str:
    """Returns the values of both sides: `0 to 2 B/op`."""
    values = " to ".join(
        "-" if value is None else f"{value:.4g}" for value in (change.base_value, change.head_value)
    )
    return f"{values} {change.unit}"
