"""The size of a change, and the place of a fix, in words."""

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


def fix_words(commit: str, base: str | None) -> str:
    """Returns the fixing commit, or the commits between which it lies if `base` is not None."""
    if base is None:
        return f"commit {commit[:12]}"
    return f"a commit of {base[:12]}..{commit[:12]}"
