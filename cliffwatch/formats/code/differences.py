"""code.json of a run: how the code of its arms' kernels differs."""

from typing import Annotated, Literal

from msgspec import Meta

from cliffwatch.formats.code.digests import CaseCode
from cliffwatch.formats.values import LARGEST_PLAN, MOST_ARMS, Count, Name, Part

MOST_DIFFERENT = 2000
MOST_LINES = 200
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


class ArmCode(Part, frozen=True, kw_only=True):
    """An arm against the first one: each function that is not the same, of those that some case executed where that was counted (`executed`), else of all. `more`
    counts those beyond 2000 that are left out.
    """

    arm: Name
    functions: Annotated[tuple[CodeDifference, ...], Meta(max_length=MOST_DIFFERENT)]
    more: Count = 0
    executed: bool = True
    sections: tuple[SectionSize, ...] = ()


class CodeRecord(Part, frozen=True, kw_only=True):
    """code.json. `cases` have digests of the code that they execute, of all arms whose kernels can be listed; none where it is not known what they execute."""

    format: Literal["cliffwatch-code"] = "cliffwatch-code"
    format_version: Literal[1] = 1
    arms: Annotated[tuple[ArmCode, ...], Meta(max_length=MOST_ARMS)]
    cases: Annotated[tuple[CaseCode, ...], Meta(max_length=LARGEST_PLAN)] = ()
