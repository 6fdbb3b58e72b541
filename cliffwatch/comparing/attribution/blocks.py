"""The functions behind a change, as every report writes them: instructions for an operation, base against head."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cliffwatch.comparing.comparison import Comparison, ComparisonSet
from cliffwatch.counting import counted

if TYPE_CHECKING:  # reports that have nothing counted by function load nothing of it
    from cliffwatch.comparing.attribution.changes import CaseFunctions, FunctionChange, Functions
    from cliffwatch.comparing.attribution.operations import Function
    from cliffwatch.formats.code.differences import ArmCode, CodeDifference, ProgramDifference
    from cliffwatch.samples import CaseKey

TITLE = "Functions behind the changes, in instructions per operation"
_MOST_CASES = 4
_MOST_FUNCTIONS = 4
_MOST_ALSO = 8
"""Cases that are named beside one with the same cause."""


@dataclass(frozen=True, slots=True)
class CodeOfArm:
    """How the code of an arm's kernel differs: functions by name, BPF programs by case and name."""

    functions: "Mapping[str, CodeDifference]"
    programs: "Mapping[tuple[CaseKey, str], ProgramDifference]"

    def of(self, function: "Function", case: "CaseKey") -> "CodeDifference | ProgramDifference | None":
        if function.object == "kernel":
            return self.functions.get(function.name)
        return self.programs.get((case.planned, function.name)) if function.object == "bpf" else None


Code = Mapping[str, CodeOfArm]
"""By the name of the arm."""


def code_of_arm(image: "ArmCode") -> CodeOfArm:
    return CodeOfArm(
        functions={each.name: each for each in image.functions},
        programs={(case.key, each.name): each for each in image.programs for case in each.cases},
    )


_OBJECTS = {"kernel": "", "bpf": "BPF", "user": "user space"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRow:
    """A function as reports show it: numbers as texts, what else is to say of it, and for bars both numbers as shares of the largest.
    `difference` are the lines in which its code differs, addresses replaced by names; empty where that is not known, or nothing differs, and of
    BPF programs, of which ProgramBlock has them.
    """

    name: str
    base: str
    head: str
    change: str
    about: str
    base_share: float
    head_share: float
    worse: bool
    difference: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionBlock:
    """The functions of a row: its case, a sentence of how much they explain, the functions with the largest changes, and what was left out.
    `also` are the other cases that changed for the same functions, as a sentence; empty where there is none.
    """

    case: str
    sentence: str
    rows: tuple[FunctionRow, ...]
    rest: str
    also: str = ""


def function_blocks(
    compared: ComparisonSet,
    functions: "Functions",
    code: Code | None = None,
    *,
    most: int = _MOST_CASES,
    each: int = _MOST_FUNCTIONS,
) -> tuple[tuple[FunctionBlock, ...], int]:
    """The rows that changed, largest change first, those with the same cause in one block, and how many more cases there are."""
    rows = sorted(compared.changed_rows(), key=lambda row: -abs(row.change or 0.0))
    known = [(row.case, found) for row in rows if (found := of_row(compared, functions, row)) is not None]
    return blocks_of_cases(known, (code or {}).get(compared.head.name), most=most, each=each)


def blocks_of_cases(
    cases: "Sequence[tuple[CaseKey, CaseFunctions]]",
    code: CodeOfArm | None = None,
    *,
    most: int = _MOST_CASES,
    each: int = _MOST_FUNCTIONS,
) -> tuple[tuple[FunctionBlock, ...], int]:
    """A block for each cause, in the order of the first case that has it, and how many cases are in none of the blocks."""
    causes: dict[object, list[tuple[CaseKey, CaseFunctions]]] = {}
    for case, found in cases:
        causes.setdefault(_cause(found) or case, []).append((case, found))
    shown = list(causes.values())[:most]
    blocks = tuple(replace(block_of(*same[0], code, most=each), also=_also(same[1:])) for same in shown)
    return blocks, len(cases) - sum(map(len, shown))


def _cause(found: "CaseFunctions") -> "frozenset[tuple[Function, bool]]":
    """What a case has in common with others that changed for the same reason: the two functions that changed most, and which way."""
    return frozenset((each.function, each.change > 0) for each in found.changes[:2])


def _also(cases: "Sequence[tuple[CaseKey, CaseFunctions]]") -> str:
    if not cases:
        return ""
    least, largest = (pick(found.measured for _, found in cases) for pick in (min, max))
    sizes = f"{least:+.2f}" if f"{least:+.2f}" == f"{largest:+.2f}" else f"{least:+.2f} to {largest:+.2f}"
    names = ", ".join(str(case) for case, _ in cases[:_MOST_ALSO])
    left = len(cases) - _MOST_ALSO
    more = f" and {counted(left, 'more case')}" if left > 0 else ""
    return f"the same functions, {sizes} measured: {names}{more}"


def of_row(compared: ComparisonSet, functions: "Functions", row: Comparison) -> "CaseFunctions | None":
    """What was counted for a row, if anything was."""
    return functions.get((compared.head.name, (row.case, row.metric)))


def text_lines(block: FunctionBlock, indent: str = "  ", *, width: int = 100) -> Iterator[str]:
    """Aligned columns for a terminal or a mail; sentences are wrapped at `width`."""
    yield f"{indent}{block.case}: {block.sentence}"
    room = max((len(row.name) for row in block.rows), default=0)
    for row in block.rows:
        yield f"{indent}  {row.name:<{room}}  {row.base:>9}  {row.head:>9}  {row.change:>9}  {row.about}".rstrip()
    if block.rest:
        yield f"{indent}  {block.rest}"
    if block.also:
        yield from textwrap.wrap(
            block.also, width, initial_indent=f"{indent}  ", subsequent_indent=f"{indent}    ", break_on_hyphens=False
        )


def block_of(
    case: "CaseKey", found: "CaseFunctions", code: CodeOfArm | None = None, *, most: int | None = None
) -> FunctionBlock:
    """What was counted for a case, of at most so many functions, with how their `code` differs."""
    shown = found.changes[:most]
    left = len(found.changes) - len(shown)
    largest = max((max(each.base, each.head) for each in shown), default=0.0) or 1.0
    return FunctionBlock(
        case=str(case),
        sentence=_sentence(found),
        rows=tuple(
            _row(each, found, largest, None if code is None else code.of(each.function, case)) for each in shown
        ),
        rest=f"and {counted(left, 'function', 'functions')} with smaller changes" if left else "",
    )


def _sentence(found: "CaseFunctions") -> str:
    measured = f"{found.measured:+.2f} measured"
    if not found.changes:
        return f"{measured}, in no function by more than {found.band:.2f}"
    if found.explained:
        return f"{measured}, {found.summed:+.2f} in functions"
    return f"{measured}, and only {found.summed:+.2f} in functions: the rest is not attributed"


def _row(
    change: "FunctionChange",
    found: "CaseFunctions",
    largest: float,
    different: "CodeDifference | ProgramDifference | None",
) -> FunctionRow:
    return FunctionRow(
        name=change.function.name,
        base="-" if change.new else f"{change.base:.2f}",
        head="-" if change.gone else f"{change.head:.2f}",
        change=f"{change.change:+.2f}",
        about=", ".join((*_about(change, found), *_sizes(different))),
        base_share=change.base / largest,
        head_share=change.head / largest,
        worse=change.change > 0,
        difference=different.lines if different is not None and change.function.object == "kernel" else (),
    )


def _about(change: "FunctionChange", found: "CaseFunctions") -> Iterator[str]:
    kind = _OBJECTS[change.function.object]
    if kind and kind != change.function.name:
        yield kind
    if change.new:
        yield "not executed in base"
    if change.gone:
        yield "not executed in head"
    for move in found.moves:
        if change.new and move.target == change.function:
            yield f"code of {move.source.name}: {move.change:+.2f} together"
        elif change.gone and move.source == change.function:
            yield f"code now in {move.target.name}: {move.change:+.2f} together"


def _sizes(different: "CodeDifference | ProgramDifference | None") -> Iterator[str]:
    """How many bytes of code a function has where both kernels have it."""
    if different is not None and different.base is not None and different.head is not None:
        yield f"code {different.base} to {different.head} bytes"


def more_cases(left: int) -> str:
    """Where the rest is to be read; empty where nothing is left."""
    return f"and {counted(left, 'more case', 'more cases')}: --explain CASE, or --format json" if left else ""
