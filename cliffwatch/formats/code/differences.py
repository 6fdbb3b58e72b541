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
    """A function of the kernel: its bytes in the first arm and in this one, null where an arm has none of this name, and what differs in its
    instructions as a unified difference without context; addresses are names there. `more` counts the lines beyond 200 that are left out.
    """

    name: Name
    base: Count | None
    head: Count | None
    lines: Annotated[tuple[Line, ...], Meta(max_length=MOST_LINES)]
    more: Count = 0


class SectionSize(Part, frozen=True, kw_only=True):
    """A part of the kernel's image, by the bounds in its System.map, and its bytes in both arms; null where a map has no such bounds. Text is the sum of
    its functions, without what fills it up.
    """

    name: Literal["text", "init text", "constants", "data", "bss"]
    base: Count | None
    head: Count | None


class ProgramDifference(Part, frozen=True, kw_only=True):
    """A BPF program whose code the JIT makes otherwise, by its name in functions.json without an ordinal, in the `cases` in which it differs in this way: its bytes and instructions in the first arm and in
    this one, and what differs as a unified difference without context. Addresses are names there, `<memory 1>` and so on where memory of the boot has none; `#14` is the instruction of that number in the first
    arm, from 0, and `#+14` one of this arm that the first one does not have. `more` counts the lines beyond 200 that are left out.
    """

    name: Name
    cases: Annotated[tuple[OfCase, ...], Meta(max_length=MOST_SAMPLES)]
    base: Count
    head: Count
    base_instructions: Count
    head_instructions: Count
    lines: Annotated[tuple[Line, ...], Meta(max_length=MOST_LINES)]
    more: Count = 0


class CasePrograms(OfCase, frozen=True, kw_only=True):
    """A digest of the code of those BPF programs that a case executed in both arms, with names in the place of addresses: equal where none differs. `names` counts them."""

    names: Count
    base: Digest
    head: Digest


class ArmCode(Part, frozen=True, kw_only=True):
    """An arm against the first one: each function that is not the same, of those that some case executed where that was counted (`executed`), else of all. `more`
    counts those beyond 2000 that are left out. `case_programs` are the cases whose BPF programs were compared, `programs` those that differ; `more_programs` counts those beyond 500.
    """

    arm: Name
    functions: Annotated[tuple[CodeDifference, ...], Meta(max_length=MOST_DIFFERENT)]
    more: Count = 0
    executed: bool = True
    sections: tuple[SectionSize, ...] = ()
    programs: Annotated[tuple[ProgramDifference, ...], Meta(max_length=MOST_PROGRAMS)] = ()
    more_programs: Count = 0
    case_programs: Annotated[tuple[CasePrograms, ...], Meta(max_length=MOST_SAMPLES)] = ()


class CodeRecord(Part, frozen=True, kw_only=True):
    """code.json. `cases` have digests of the code that they execute, of all arms whose kernels can be listed; none where it is not known what they execute."""

    format: Literal["cliffwatch-code"] = "cliffwatch-code"
    format_version: Literal[1] = 1
    arms: Annotated[tuple[ArmCode, ...], Meta(max_length=MOST_ARMS)]
    cases: Annotated[tuple[CaseCode, ...], Meta(max_length=LARGEST_PLAN)] = ()
