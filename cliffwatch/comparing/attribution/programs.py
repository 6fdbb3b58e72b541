"""How the JIT's code of BPF programs differs between two kernels, as every report shows it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cliffwatch.counting import count_noun

if TYPE_CHECKING:  # reports that know no code load nothing of it
    from cliffwatch.formats.code.differences import ArmCode, ProgramDifference
    from cliffwatch.samples import CaseKey

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramBlock:
    """A BPF program that differs."""

    name: str
    sentence: str
    """Its sizes."""
    cases: tuple[str, ...]
    """Cases in which it differs in this way."""
    lines: tuple[str, ...]
    """Instructions that differ."""


def programs_sentence(image: "ArmCode") -> str:
    """`BPF programs: get 412 to 436 bytes, loop +3 to +12 bytes in 7 cases`; empty if none were compared."""
    if not image.case_programs:
        return ""
    by_name: dict[str, list[ProgramDifference]] = {}
    for each in image.programs:
        by_name.setdefault(each.name, []).append(each)
    if not by_name:
        return "no BPF program differs"
    named = sorted(
        by_name.items(),
        key=lambda of_name: (-max(abs(each.head - each.base) for each in of_name[1]), of_name[0]),
    )
    shown = [f"{name} {_sizes(different)}" for name, different in named[:_MOST_NAMED]]
    left = len(named) - len(shown)
    return f"BPF programs: {', '.join(shown)}{f' and {left} more' if left else ''}"


def program_blocks(image: "ArmCode | None", case: "CaseKey | None" = None) -> tuple[ProgramBlock, ...]:
    """Programs that differ, in a case or in all; empty if unknown."""
    if image is None:
        return ()
    chosen = [
        each for each in image.programs if case is None or any(of.case == case.planned for of in each.cases)
    ]
    return tuple(_block(each) for each in chosen)


def program_lines(blocks: Sequence[ProgramBlock]) -> Iterator[str]:
    """Lines for a terminal."""
    for block in blocks:
        yield f"  BPF program {block.name}, base against head: {block.sentence}"
        yield from (f"    {line}" for line in block.lines)


def _block(different: "ProgramDifference") -> ProgramBlock:
    left = (
        (f"and {count_noun(different.more, 'more line')}, in the boots' bpf-programs.json",)
        if different.more
        else ()
    )
    return ProgramBlock(
        name=different.name,
        sentence=", ".join(
            (
                _from_to(different.base, different.head, "byte"),
                _from_to(different.base_instructions, different.head_instructions, "instruction"),
            )
        ),
        cases=tuple(str(each.case) for each in different.cases),
        lines=(*different.lines, *left),
    )


def _from_to(base: int, head: int, unit: str) -> str:
    return count_noun(base, unit) if base == head else f"{base} to {count_noun(head, unit)}"


def _sizes(different: "Sequence[ProgramDifference]") -> str:
    """Size changes of the programs of one name.

    A program is compiled for each case with the case's constants, so its size may vary.
    """
    sizes = {(each.base, each.head) for each in different}
    if len(sizes) == 1:
        ((base, head),) = sizes
        return (
            f"{base} to {head} bytes" if base != head else f"{count_noun(base, 'byte')}, other instructions"
        )
    changes = sorted({each.head - each.base for each in different})
    cases = count_noun(sum(len(each.cases) for each in different), "case")
    if len(changes) == 1:
        return f"{changes[0]:+} bytes in {cases}"
    return f"{changes[0]:+} to {changes[-1]:+} bytes in {cases}"
