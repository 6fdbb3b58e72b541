"""Writes code.json: differences between the arms in kernel functions and in the JIT code of BPF programs.

If function counts exist, only executed functions are compared.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, starmap
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch.formats.code.differences import (
    MOST_DIFFERENT,
    MOST_LINES,
    MOST_PROGRAMS,
    ArmCode,
    CodeDifference,
    CodeRecord,
    SectionSize,
)
from cliffwatch.formats.code.digests import CaseCode
from cliffwatch.formats.code.function_counts import FunctionCountsRecord
from cliffwatch.formats.reading import read_as
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import select_compared_arms
from cliffwatch_runner.build.code.functions import (
    Listings,
    find_differing,
    function_digests,
    function_listings,
)
from cliffwatch_runner.build.code.sections import SectionName, section_sizes
from cliffwatch_runner.guest.counting.kernel_symbols import read_system_map
from cliffwatch_runner.results.files import write_document
from cliffwatch_runner.results.function_counts import FUNCTION_COUNTS
from cliffwatch_runner.results.program_differences import (
    ArmPrograms,
    arm_programs,
    program_differences,
)
from cliffwatch_runner.sandbox.sandbox import Sandbox

CODE = "code.json"
_LONGEST_LINE = 400


def write_code(
    folder: Path,
    kernels: Mapping[str, Path],
    cases: Sequence[CaseCode],
    sandbox: Sandbox,
    cache: Path,
    should_stop: Callable[[], bool] = lambda: False,
    *,
    releases: bool = False,
) -> None:
    """Writes how each arm's kernel differs from the first one's, and the digests of what cases execute.

    With `releases`, also how each differs from the one before it.

    `kernels` are the folders of the images, by arm. Without function counts, all differing functions are
    listed. Writes nothing if the kernels cannot be disassembled. Raises Stopped, and OSError if the file
    cannot be written.
    """
    arms = _read_arms(folder, kernels, sandbox, cache, should_stop)
    differences = tuple(_difference_of_arms(arms[0], each) for each in arms[1:])
    steps = tuple(starmap(_difference_of_arms, pairwise(arms[1:]))) if releases else ()
    if differences or cases:
        write_document(folder / CODE, CodeRecord(arms=differences, cases=tuple(cases), steps=steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arm:
    """The code of an arm."""

    name: str
    listings: Listings
    """Of the functions to compare."""
    executed: bool
    """True if these are the functions that cases executed."""
    sections: Mapping[SectionName, int]
    programs: ArmPrograms


def _read_arms(
    folder: Path, kernels: Mapping[str, Path], sandbox: Sandbox, cache: Path, should_stop: Callable[[], bool]
) -> tuple[_Arm, ...]:
    """Reads the arms whose kernels can be disassembled; none if the first one cannot."""
    arms = [(name, kernels[name]) for name in select_compared_arms(kernels)]
    sizes = {name: section_sizes(read_system_map(kernel) or b"") for name, kernel in arms}
    if len(arms) < 2 or not all("text" in each for each in sizes.values()):
        return ()
    executed = frozenset(_executed(folder))
    names = executed or _differing([kernel for _, kernel in arms], cache, sandbox, should_stop)
    if names is None:
        return ()
    found: list[_Arm] = []
    for name, kernel in arms:
        listings = function_listings(kernel, names, sandbox, should_stop) if names else {}
        if not isinstance(listings, Failure):
            programs = arm_programs(folder, name, kernel, sandbox, should_stop)
            found.append(
                _Arm(
                    name=name,
                    listings=listings,
                    executed=bool(executed),
                    sections=sizes[name],
                    programs=programs,
                )
            )
        elif not found:
            return ()
    return tuple(found)


def _differing(
    kernels: Sequence[Path], cache: Path, sandbox: Sandbox, should_stop: Callable[[], bool]
) -> frozenset[str] | None:
    """Returns the functions in which any kernel differs from the first one; None if any cannot be listed."""
    digests = [function_digests(kernel, cache, sandbox, should_stop) for kernel in kernels]
    made = [each for each in digests if not isinstance(each, Failure)]
    if len(made) < len(digests):
        return None
    return frozenset(name for other in made[1:] for name in find_differing(made[0], other))


def _sections(base: Mapping[SectionName, int], head: Mapping[SectionName, int]) -> tuple[SectionSize, ...]:
    names = dict.fromkeys((*base, *head))
    return tuple(SectionSize(name=name, base=base.get(name), head=head.get(name)) for name in names)


def _difference_of_arms(base: _Arm, head: _Arm) -> ArmCode:
    names = sorted(base.listings.keys() | head.listings.keys())
    different = [
        each
        for function in names
        if (each := _difference(function, base.listings, head.listings)) is not None
    ]
    programs = program_differences(base.programs, head.programs)
    return ArmCode(
        arm=head.name,
        functions=tuple(different[:MOST_DIFFERENT]),
        more=max(0, len(different) - MOST_DIFFERENT),
        executed=head.executed,
        sections=_sections(base.sections, head.sections),
        programs=programs.programs[:MOST_PROGRAMS],
        more_programs=max(0, len(programs.programs) - MOST_PROGRAMS),
        case_programs=programs.cases,
    )


_NONE: tuple[int | None, tuple[str, ...]] = (None, ())


def _difference(name: str, base: Listings, head: Listings) -> CodeDifference | None:
    (base_bytes, old), (head_bytes, new) = base.get(name, _NONE), head.get(name, _NONE)
    if old == new:
        return None
    whole = difflib.unified_diff(old, new, n=0, lineterm="")
    lines = [line[:_LONGEST_LINE] for line in whole if not line.startswith(("---", "+++"))]
    return CodeDifference(
        name=name,
        base=base_bytes,
        head=head_bytes,
        lines=tuple(lines[:MOST_LINES]),
        more=max(0, len(lines) - MOST_LINES),
    )


def _executed(folder: Path) -> Iterator[str]:
    """Yields the names of the kernel functions that any case executed while it measured, in any boot."""
    for path in sorted((folder / "boots").glob(f"*/{FUNCTION_COUNTS}")):
        counts = read_as(path.read_bytes(), FunctionCountsRecord)
        if isinstance(counts, Problem):
            continue
        places = {place for case in counts.cases for place, _ in case.counts}
        functions = [counts.functions[place] for place in places if place < len(counts.functions)]
        yield from (each.name for each in functions if each.object == "kernel")
