"""What the cases of a kernel execute, as a host keeps it in its cache for the next run of that kernel."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.code.function_counts import MOST_FUNCTIONS, Places
from cliffwatch.formats.values import MOST_SAMPLES, Name, OfCase, Part


class ExecutedCase(OfCase, frozen=True, kw_only=True):
    """A case, and the places in the table of the functions that it executes, set-up included; `measured` are
    those on its measured path: functions with at least a thousandth of the instructions of its window.
    """

    executed: Places
    measured: Places


class ExecutedRecord(Part, frozen=True, kw_only=True):
    """`functions` is the table that places point into, of the kernel's functions alone; `start` are those of
    every guest before its first case.
    """

    format: Literal["cliffwatch-executed"] = "cliffwatch-executed"
    format_version: Literal[1] = 1
    functions: Annotated[tuple[Name, ...], Meta(max_length=MOST_FUNCTIONS)]
    start: Places
    cases: Annotated[tuple[ExecutedCase, ...], Meta(max_length=MOST_SAMPLES)]
