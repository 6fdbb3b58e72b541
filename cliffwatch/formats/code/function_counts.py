"""functions.json of a boot: the instructions that each case executed, by function, as the emulator counted
them.
"""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.values import MOST_SAMPLES, CaseName, Name, Number, OfCase, Part, Text

MOST_FUNCTIONS = 200_000
"""Of a boot; a kernel with all of its drivers has fewer."""

Instructions = Annotated[int, Meta(ge=0, le=2**62)]
Place = Annotated[int, Meta(ge=0, lt=MOST_FUNCTIONS)]
"""Of a function in the document's table, from 0."""

Places = Annotated[tuple[Place, ...], Meta(max_length=MOST_FUNCTIONS)]
CodeObject = Literal["kernel", "bpf", "user"]
UNNAMED_PROGRAMS, UNNAMED_LIBRARIES = "programs", "shared libraries"
"""Of user space, where nobody knows what lay at an address: below what Linux maps beside a program, and
there.
"""


UNNAMED_AT_RUN_TIME = "run-time code without a name"
"""Of the kernel: code that the JIT made and took away before its name was read, or that kprobes made."""


class CountedFunction(Part, frozen=True, kw_only=True):
    """Where instructions were executed. `object` is `kernel`, `bpf` (code that the JIT made; the name is the
    program's, without the digits that differ between kernels) or `user` (the name is that of the program's
    or library's file, `[vdso]` or `anonymous memory`; `programs` and `shared libraries` are what could not
    be assigned). Where a name appears more than once, all but the first have `@` and their ordinal, in the
    order of addresses, after it.
    """

    name: Name
    object: CodeObject


class CaseCounts(OfCase, frozen=True, kw_only=True):
    """A case's instructions by function. A place is an index into the record's `functions`."""

    seconds: Annotated[Number, Meta(gt=0)] | None
    """Length of the measured window by the guest's clock; null if it is the whole case with its set-up."""
    counts: Annotated[tuple[tuple[Place, Instructions], ...], Meta(max_length=MOST_FUNCTIONS)]
    """Instructions in the window by place, most first."""
    executed: Places
    """Places executed at any time in the case."""
    calls: Annotated[tuple[tuple[Place, Instructions], ...], Meta(max_length=MOST_FUNCTIONS)] = ()
    """Calls in the window, of kernel functions and BPF programs."""
    operations: Annotated[Number, Meta(gt=0)] | None = None
    """Operations in the window; null if unknown."""
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
