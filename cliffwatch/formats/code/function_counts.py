"""functions.json of a boot: the instructions that each case executed, by function, as the emulator counted them."""

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
"""Of user space, where nobody knows what lay at an address: below what Linux maps beside a program, and there."""


UNNAMED_AT_RUN_TIME = "run-time code without a name"
"""Of the kernel: code that the JIT made and took away before its name was read, or that kprobes made."""


class CountedFunction(Part, frozen=True, kw_only=True):
    """Where instructions were executed. `object` is `kernel`, `bpf` (code that the JIT made; the name is the program's, without the digits
    that differ between kernels) or `user` (the name is that of the program's or library's file, `[vdso]` or `anonymous memory`; `programs` and `shared libraries` are what
    could not be assigned). Where a name appears more than once,
    all but the first have `@` and their ordinal, in the order of addresses, after it.
    """

    name: Name
    object: CodeObject


class CaseCounts(OfCase, frozen=True, kw_only=True):
    """A case's instructions. `counts` are places with the instructions that were executed there in the window, most first. The window is
    that of the readings that the values are of, `seconds` long by the guest's clock; null where it is the whole case, set-up included.
    `executed` are the places that were executed at all between the case's start and its end. `calls` are places with how often their
    function was called in the window, of the kernel's functions and BPF programs. `operations` are those of the
    case in the window; null where it is not known. `operation` is the function or BPF program whose calls they were counted by, null
    where they are by the values that bench printed.
    """

    seconds: Annotated[Number, Meta(gt=0)] | None
    counts: Annotated[tuple[tuple[Place, Instructions], ...], Meta(max_length=MOST_FUNCTIONS)]
    executed: Places
    calls: Annotated[tuple[tuple[Place, Instructions], ...], Meta(max_length=MOST_FUNCTIONS)] = ()
    operations: Annotated[Number, Meta(gt=0)] | None = None
    operation: CaseName | None = None


class FunctionCountsRecord(Part, frozen=True, kw_only=True):
    """`functions` is the table that places point into; `started` are the places that were executed from the agent's start to the first
    case, `booted` of those before that; empty: not known. `counter` says what counted: the emulator with its version, and the version of its plugin interface. `notes` are sentences
    for the reader: what could not be counted, and why.
    """

    format: Literal["cliffwatch-function-counts"] = "cliffwatch-function-counts"
    format_version: Literal[1] = 1
    counter: Text
    functions: Annotated[tuple[CountedFunction, ...], Meta(max_length=MOST_FUNCTIONS)]
    started: Places
    booted: Places = ()
    cases: Annotated[tuple[CaseCounts, ...], Meta(max_length=MOST_SAMPLES)]
    notes: tuple[Text, ...] = ()
