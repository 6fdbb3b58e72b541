"""code.json of a run: the differences between the code of its arms' kernels."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.code.digests import CaseCode
from cliffwatch.formats.values import LARGEST_PLAN, MOST_ARMS, MOST_SAMPLES, Count, Digest, Name, OfCase, Part

MOST_DIFFERENT = 2000
MOST_LINES = 200
MOST_PROGRAMS = 500
Line = Annotated[str, Meta(max_length=400)]


class CodeDifference(Part, frozen=True, kw_only=True):
    """A function of the kernel that differs.

    `base` and `head` are its bytes in the first arm and in this one; null if the arm does not have it.
    `lines` is a unified diff of its instructions without context, in which names replace addresses. `more` is
    the number of omitted lines beyond 200.
    """

    name: Name
    base: Count | None
    head: Count | None
    lines: Annotated[tuple[Line, ...], Meta(max_length=MOST_LINES)]
    more: Count = 0


class SectionSize(Part, frozen=True, kw_only=True):
    """A section of the kernel's image.

    `base` and `head` are its bytes in both arms, from the bounds in System.map; null if the map lacks them.
    The size of `text` is the sum of its functions, without padding.
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
    """Digests of the BPF programs that a case executed in both arms, computed with names in place of
    addresses. They are equal if no program differs. `names` is the number of programs.
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
    """code.json.

    `steps` compare each arm with the one before it, where the arms are releases; the first step is in `arms`.
    `cases` have digests of the executed code, for all arms whose kernels can be disassembled. `cases` is
    empty if the executed functions are unknown.
    """

    format: Literal["cliffwatch-code"] = "cliffwatch-code"
    format_version: Literal[1] = 1
    arms: Annotated[tuple[ArmCode, ...], Meta(max_length=MOST_ARMS)]
    cases: Annotated[tuple[CaseCode, ...], Meta(max_length=LARGEST_PLAN)] = ()
    steps: Annotated[tuple[ArmCode, ...], Meta(max_length=MOST_ARMS)] = ()
