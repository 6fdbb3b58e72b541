"""The functions that the cases of a kernel execute. A host caches them for the next run of that kernel."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.code.function_counts import MOST_FUNCTIONS, Places
from cliffwatch.formats.values import MOST_SAMPLES, Name, OfCase, Part


class ExecutedCase(OfCase, frozen=True, kw_only=True):
    """A case and its functions, as indexes into the record's `functions`."""

    executed: Places
    """All functions that the case executes, including its set-up."""
    measured: Places
    """The functions of the measured path: those with at least 0.1 % of the instructions of its window."""


class ExecutedRecord(Part, frozen=True, kw_only=True):
    """The cached functions of a kernel's cases."""

    format: Literal["cliffwatch-executed"] = "cliffwatch-executed"
    format_version: Literal[1] = 1
    functions: Annotated[tuple[Name, ...], Meta(max_length=MOST_FUNCTIONS)]
    """The kernel functions that places refer to."""
    start: Places
    """The functions that every guest executes before its first case."""
    cases: Annotated[tuple[ExecutedCase, ...], Meta(max_length=MOST_SAMPLES)]
