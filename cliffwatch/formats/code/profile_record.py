"""profile.json of a boot: the instructions that each case executed, by function, as the emulator counted them."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.values import MOST_SAMPLES, Name, OfCase, Part, Text

Version = Literal[1]

MOST_FUNCTIONS = 200_000
"""Of a profile; a kernel with all of its drivers has fewer."""

Instructions = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Place = Annotated[int, Meta(ge=0, lt=MOST_FUNCTIONS)]
"""Of a function in the profile's table, from 0."""

Places = Annotated[tuple[Place, ...], Meta(max_length=MOST_FUNCTIONS)]


class ProfiledFunction(Part, frozen=True, kw_only=True):
    """Where instructions were executed. `object` is `kernel`, `module NAME`, `bpf` (code that the JIT made; the name is the program's)
    or `user` (the name is what is known of the program or library). A function whose symbol appears more than once in a kernel is one
    entry a symbol, with `@` and its ordinal in the order of addresses after the name of all but the first.
    """

    name: Name
    object: Name


class CaseProfile(OfCase, frozen=True, kw_only=True):
    """A case's instructions. `counts` are places with the instructions that were executed there in the window, most first, which add
    up to `instructions`. The window is from the end of warm-up to the end of the last reading where `windowed`; else the whole case.
    `executed` are the places that were executed at all between the case's start and its end, set-up included.
    """

    instructions: Instructions
    windowed: bool
    counts: Annotated[tuple[tuple[Place, Instructions], ...], Meta(max_length=MOST_FUNCTIONS)]
    executed: Places


class ProfileRecord(Part, frozen=True, kw_only=True):
    """`functions` is the table that places point into; `started` are the places that were executed from the agent's start to the first
    case. `counter` says what counted: the emulator with its version, and the version of its plugin interface. `notes` are sentences
    for the reader: what could not be counted, and why.
    """

    format: Literal["cliffwatch-profile"] = "cliffwatch-profile"
    format_version: Version = 1
    counter: Text
    functions: Annotated[tuple[ProfiledFunction, ...], Meta(max_length=MOST_FUNCTIONS)]
    started: Places
    cases: Annotated[tuple[CaseProfile, ...], Meta(max_length=MOST_SAMPLES)]
    notes: tuple[Text, ...] = ()
