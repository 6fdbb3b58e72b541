"""The functions behind a change, as every report shows them: instructions per operation of base and head."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cliffwatch.comparing.attribution.sentences import describe_change, summarise_functions
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow

if TYPE_CHECKING:  # reports that have nothing counted by function load nothing of it
    from cliffwatch.comparing.attribution.changes import CaseFunctions, FunctionChange, Functions
    from cliffwatch.comparing.attribution.operations import Function
    from cliffwatch.formats.code.differences import ArmCode, CodeDifference, ProgramDifference
    from cliffwatch.samples import CaseKey

TITLE = "Functions behind the changes, in instructions per operation"
_MOST_CASES = 4
_MOST_FUNCTIONS = 4
_MOST_ALSO = 8
"""Most cases named beside one with the same cause."""


@dataclass(frozen=True, slots=True)
class CodeOfArm:
    """How the code of an arm's kernel differs from the first arm's."""

    functions: "Mapping[str, CodeDifference]"
    """By name."""
    programs: "Mapping[tuple[CaseKey, str], ProgramDifference]"
    """BPF programs, by case and name."""

    def of(self, function: "Function", case: "CaseKey") -> "CodeDifference | ProgramDifference | None":
        if function.object == "kernel":
            return self.functions.get(function.name)
        return self.programs.get((case.planned, function.name)) if function.object == "bpf" else None


Code = Mapping[str, CodeOfArm]
"""By the name of the arm."""


def code_of_arm(image: "ArmCode") -> CodeOfArm:
    return CodeOfArm(
        functions={each.name: each for each in image.functions},
        programs={(case.case, each.name): each for each in image.programs for case in each.cases},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRow:
    """A function as reports show it, numbers as texts."""

    name: str
    base: str
    head: str
    change: str
    about: str
    """Further facts about the function."""
    base_share: float
    """Length of base's bar, as a share of the block's largest value."""
    head_share: float
    """Length of head's bar, likewise."""
    worse: bool
    difference: tuple[str, ...] = ()
    """Lines in which its code differs, with addresses replaced by names.

    Empty if unknown or if nothing differs. Empty for BPF programs: ProgramBlock has theirs.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionBlock:
    """The functions of a row."""

    case: str
    sentence: str
    """How much of the change the functions explain."""
    rows: tuple[FunctionRow, ...]
    """The functions with the largest changes."""
    rest: str
    """How many functions were left out; empty if none."""
    hidden: bool = False
    """True if the case reports no change: the sentence says what its functions did."""
    also: str = ""
    """Other cases that changed because of the same functions, as a sentence; empty without any."""


def function_blocks(
    compared: ComparisonSet,
    functions: "Functions",
    code: Code | None = None,
    *,
    most: int = _MOST_CASES,
    each: int = _MOST_FUNCTIONS,
) -> tuple[tuple[FunctionBlock, ...], int]:
    """Blocks of the rows that changed, largest change first, then of rows that hide changed functions.

    Rows with the same cause share a block. Also returns how many cases have no block.
    """
    rows = sorted(rows_with_functions(compared, functions), key=lambda each: -abs(each[0].change or 0.0))
    known = [(row.case, found) for row, found in rows]
    return blocks_of_cases(known, (code or {}).get(compared.head.name), most=most, each=each)


def rows_with_functions(
    compared: ComparisonSet, functions: "Functions"
) -> "Iterator[tuple[ComparisonRow, CaseFunctions]]":
    """The rows that changed, then those that hide changed functions."""
    changed = compared.changed_rows()
    for row in changed:
        if (found := of_row(compared, functions, row)) is not None:
            yield row, found
    known = {id(row) for row in changed}
    for row in compared.primary_rows() if functions else ():
        found = of_row(compared, functions, row)
        if found is not None and found.hidden_in and id(row) not in known:
            yield row, found


def blocks_of_cases(
    cases: "Sequence[tuple[CaseKey, CaseFunctions]]",
    code: CodeOfArm | None = None,
    *,
    most: int = _MOST_CASES,
    each: int = _MOST_FUNCTIONS,
) -> tuple[tuple[FunctionBlock, ...], int]:
    """One block per cause, in the order of the first case that has it.

    Also returns how many cases have no block.

    There are at most `most` blocks of cases that changed, and at most `most` of others.
    """
    causes: dict[object, list[tuple[CaseKey, CaseFunctions]]] = {}
    for case, found in cases:
        causes.setdefault((_cause(found) or case, found.hidden_in), []).append((case, found))
    of_changed, of_others = (
        [same for same in causes.values() if (same[0][1].hidden_in is not None) == kind]
        for kind in (False, True)
    )
    shown = [*of_changed[:most], *of_others[:most]]
    blocks = tuple(replace(block_of(*same[0], code, most=each), also=_also(same[1:])) for same in shown)
    return blocks, len(cases) - sum(map(len, shown))


def _cause(found: "CaseFunctions") -> "frozenset[tuple[Function, bool]]":
    """The two functions that changed most, and their directions. Cases with equal causes share a block."""
    return frozenset((each.function, each.change > 0) for each in found.changes[:2])


def _also(cases: "Sequence[tuple[CaseKey, CaseFunctions]]") -> str:
    if not cases:
        return ""
    if cases[0][1].hidden_in:
        return f"the same functions: {_name_cases(cases)}"
    least, largest = (pick(found.measured for _, found in cases) for pick in (min, max))
    sizes = f"{least:+.2f}" if f"{least:+.2f}" == f"{largest:+.2f}" else f"{least:+.2f} to {largest:+.2f}"
    return f"the same functions, {sizes} measured: {_name_cases(cases)}"


def _name_cases(cases: "Sequence[tuple[CaseKey, CaseFunctions]]") -> str:
    names = ", ".join(str(case) for case, _ in cases[:_MOST_ALSO])
    left = len(cases) - _MOST_ALSO
    return names + (f" and {count_noun(left, 'more case')}" if left > 0 else "")


def of_row(compared: ComparisonSet, functions: "Functions", row: ComparisonRow) -> "CaseFunctions | None":
    """The function changes of a row; None if its functions were not counted."""
    return functions.get((compared.head.name, (row.case, row.metric)))


def text_lines(block: FunctionBlock, indent: str = "  ", *, width: int = 100) -> Iterator[str]:
    """Aligned columns for a terminal or a mail. Sentences are wrapped at `width`."""
    yield f"{indent}{block.case}: {block.sentence}"
    room = max((len(row.name) for row in block.rows), default=0)
    for row in block.rows:
        yield (
            (
                f"{indent}  {row.name:<{room}}  {row.base:>9}  {row.head:>9}  {row.change:>9}  {row.about}"
            ).rstrip()
        )
    if block.rest:
        yield f"{indent}  {block.rest}"
    if block.also:
        yield from textwrap.wrap(
            block.also,
            width,
            initial_indent=f"{indent}  ",
            subsequent_indent=f"{indent}    ",
            break_on_hyphens=False,
        )


def block_of(
    case: "CaseKey", found: "CaseFunctions", code: CodeOfArm | None = None, *, most: int | None = None
) -> FunctionBlock:
    """The block of a case with at most `most` functions, and how their `code` differs."""
    shown = found.changes[:most]
    left = len(found.changes) - len(shown)
    largest = max((max(each.base, each.head) for each in shown), default=0.0) or 1.0
    return FunctionBlock(
        case=str(case),
        sentence=summarise_functions(found),
        hidden=found.hidden_in is not None,
        rows=tuple(
            _row(each, found, largest, None if code is None else code.of(each.function, case))
            for each in shown
        ),
        rest=f"and {count_noun(left, 'function', 'functions')} with smaller changes" if left else "",
    )


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
        about=", ".join(describe_change(change, found, different)),
        base_share=change.base / largest,
        head_share=change.head / largest,
        worse=change.change > 0,
        difference=different.lines if different is not None and change.function.object == "kernel" else (),
    )


def more_cases(left: int) -> str:
    """How to see the other cases; empty if there are none."""
    return (
        f"and {count_noun(left, 'more case', 'more cases')}: --explain CASE, or --format json" if left else ""
    )
