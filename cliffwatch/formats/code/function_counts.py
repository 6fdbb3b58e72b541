"""functions.json of a boot: the instructions of each case by function, as counted by the emulator."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.values import MOST_SAMPLES, CaseName, Name, Number, OfCase, Part, Text

MOST_FUNCTIONS = 200_000
"""The most functions of a boot. A kernel with all its drivers has fewer."""

Instructions = Annotated[int, Meta(ge=0, le=2**62)]
Place = Annotated[int, Meta(ge=0, lt=MOST_FUNCTIONS)]
"""The index of a function in the document's table, from 0."""

Places = Annotated[tuple[Place, ...], Meta(max_length=MOST_FUNCTIONS)]
CodeObject = Literal["kernel", "bpf", "user"]
UNNAMED_PROGRAMS, UNNAMED_LIBRARIES = "programs", "shared libraries"
"""Of user space, where nobody knows what lay at an address: below what Linux maps beside a program, and
there.
"""


UNNAMED_AT_RUN_TIME = "run-time code without a name"
"""Kernel code that was created at run time: by the JIT, if it was freed before its name was read, or by
kprobes.
"""


class CountedFunction(Part, frozen=True, kw_only=True):
    """Code whose instructions were counted.

    `object` is `kernel`, `bpf` or `user`. For `bpf`, JIT code, `name` is the program's name without the
    digits that differ between kernels. For `user`, `name` is the file of the program or library, `[vdso]`
    or `anonymous memory`; `programs` and `shared libraries` are code that could not be assigned. If
    several functions have the same name, all but the first have `@` and an ordinal appended, in the order
    of their addresses.
    """

    name: Name
    object: CodeObject


class CaseCounts(OfCase, frozen=True, kw_only=True):
    """A case's instructions by function. A place is an index into the record's `functions`."""

    seconds: Annotated[Number, Meta(gt=0)] | None
    """Length of the measured window by the guest's clock; null if it is the whole case with its set-up, or if
    the window has other work beside the operations.
    """
    counts: Annotated[tuple[tuple[Place, Instructions], ...], Meta(max_length=MOST_FUNCTIONS)]
    """Instructions in the window by place, most first."""
    executed: Places
    """Places executed at any time in the case."""
    calls: Annotated[tuple[tuple[Place, Instructions], ...], Meta(max_length=MOST_FUNCTIONS)] = ()
    """Calls in the window, of kernel functions and BPF programs."""
    operations: Annotated[Number, Meta(gt=0)] | None = None
    """Operations in the counts; null if unknown."""
    operation: CaseName | None = None
    """Function or program whose calls count as operations; null if bench's own values do."""


class FunctionCountsRecord(Part, frozen=True, kw_only=True):
    """functions.json: instructions by function in one boot."""

    format: Literal["cliffwatch-function-counts"] = "cliffwatch-function-counts"
    format_version: Literal[1] = 1
    counter: Text
    """What counted: the emulator's version and that of its plugin interface."""
    functions: Annotated[tuple[CountedFunction, ...], Meta(max_length=MOST_FUNCTIONS)]
    """The table that places index."""
    started: Places
    """Places executed from the agent's start to the first case; empty: unknown."""
    booted: Places = ()
    """Places executed before that; empty: unknown."""
    cases: Annotated[tuple[CaseCounts, ...], Meta(max_length=MOST_SAMPLES)]
    notes: tuple[Text, ...] = ()
    """Sentences on what could not be counted, and why."""
