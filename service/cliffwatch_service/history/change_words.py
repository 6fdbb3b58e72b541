"""How large a change is, in words."""

from typing import Protocol

from cliffwatch.reports import figures


class Sized(Protocol):
    """A change: `size` is a fraction of base, and None where that has no sense (from or to zero), which the
    values of both sides say.
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
    """`+4.91 %`, or `0 to 2 B/op` of a change that has no percentage."""
    return figures.percent(change.size) if change.size is not None else step_words(change)


def step_words(change: Sized) -> str:
    """`0 to 2 B/op`."""
    values = " to ".join(
        "-" if value is None else f"{value:.4g}" for value in (change.base_value, change.head_value)
    )
    return f"{values} {change.unit}"
