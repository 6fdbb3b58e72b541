"""code.json of a run: how the code of its arms' kernels differs."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.code.digests import CaseCode
from cliffwatch.formats.values import LARGEST_PLAN, MOST_ARMS, MOST_SAMPLES, Count, Digest, Name, OfCase, Part

MOST_DIFFERENT = 2000
MOST_LINES = 200
MOST_PROGRAMS = 500
Line = Annotated[str, Meta(max_length=400)]


class CodeDifference(Part, frozen=True, kw_only=True):
    """A function of the kernel: its bytes in the first arm and in this one, null where an arm has none of
    this name, and what differs in its instructions as a unified difference without context; addresses are
    names there. `more` counts the lines beyond 200 that are left out.
    """

    name: Name
    base: Count | None
    head: Count | None
    lines: Annotated[tuple[Line, ...], Meta(max_length=MOST_LINES)]
    more: Count = 0


class SectionSize(Part, frozen=True, kw_only=True):
    """A part of the kernel's image, by the bounds in its System.map, and its bytes in both arms; null where a
    map has no such bounds. Text is the sum of its functions, without what fills it up.
    """

    name: Literal["text", "init text", "constants", "data", "bss"]
    base: Count | None
    head: Count | None


class ProgramDifference(Part, frozen=True, kw_only=True):
    """A BPF program that the JIT compiles differently."""

    name: Name
    """As in functions.json, without an ordinal."""
    cases: Annotated[tuple[OfCase, ...], Meta(max_length=MOST_SAMPLES)]
    """Cases in which it differs in this way."""
    base: Count
    """Bytes in the first arm."""
    head: Count
    """Bytes in this arm."""
    base_instructions: Count
    head_instructions: Count
    lines: Annotated[tuple[Line, ...], Meta(max_length=MOST_LINES)]
    """Unified diff without context. Addresses are names, or `<memory 1>` if there is none; `#14` is the 15th
    instruction of the first arm, `#+14` one that only this arm has.
    """
    more: Count = 0
    """Lines left out beyond 200."""


class CasePrograms(OfCase, frozen=True, kw_only=True):
    """A digest of the code of those BPF programs that a case executed in both arms, with names in the place
    of addresses: equal where none differs. `names` counts them.
    """

    names: Count
    base: Digest
    head: Digest


class ArmCode(Part, frozen=True, kw_only=True):
    """The code of an arm against that of the first one."""

    arm: Name
    functions: Annotated[tuple[CodeDifference, ...], Meta(max_length=MOST_DIFFERENT)]
    """Functions that differ: of the executed ones if that was counted, else of all."""
    more: Count = 0
    """Functions left out beyond 2000."""
    executed: bool = True
    """`functions` covers executed functions only."""
    sections: tuple[SectionSize, ...] = ()
    programs: Annotated[tuple[ProgramDifference, ...], Meta(max_length=MOST_PROGRAMS)] = ()
    """BPF programs that differ."""
    more_programs: Count = 0
    """Programs left out beyond 500."""
    case_programs: Annotated[tuple[CasePrograms, ...], Meta(max_length=MOST_SAMPLES)] = ()
    """Cases whose BPF programs were compared."""


class CodeRecord(Part, frozen=True, kw_only=True):
    """code.json. `cases` have digests of the code that they execute, of all arms whose kernels can be listed;
    none where it is not known what they execute.
    """

    format: Literal["cliffwatch-code"] = "cliffwatch-code"
    format_version: Literal[1] = 1
    arms: Annotated[tuple[ArmCode, ...], Meta(max_length=MOST_ARMS)]
    cases: Annotated[tuple[CaseCode, ...], Meta(max_length=LARGEST_PLAN)] = ()
