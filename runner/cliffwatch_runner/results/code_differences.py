"""Writes code.json: differences between the arms in kernel functions and in the JIT code of BPF programs.

If function counts exist, only executed functions are compared.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    ProgramDifferences,
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
) -> None:
    """Writes how each arm's kernel differs from the first one's, and the digests of what cases execute.

    `kernels` are the folders of the images, by arm. Without function counts, all differing functions are
    listed. Writes nothing if the kernels cannot be disassembled. Raises Stopped, and OSError if the file
    cannot be written.
    """
    differences = _differences(folder, kernels, sandbox, cache, should_stop)
    if differences or cases:
        write_document(folder / CODE, CodeRecord(arms=differences, cases=tuple(cases)))


def _differences(
    folder: Path, kernels: Mapping[str, Path], sandbox: Sandbox, cache: Path, should_stop: Callable[[], bool]
) -> tuple[ArmCode, ...]:
    arms = [(name, kernels[name]) for name in select_compared_arms(kernels)]
    sizes = {name: section_sizes(read_system_map(kernel) or b"") for name, kernel in arms}
    if len(arms) < 2 or not all("text" in each for each in sizes.values()):
        return ()
    executed = frozenset(_executed(folder))
    names = executed or _differing([kernel for _, kernel in arms], cache, sandbox, should_stop)
    if names is None:
        return ()
    listings = {
        name: function_listings(kernel, names, sandbox, should_stop) if names else {} for name, kernel in arms
    }
    (first, base), *others = listings.items()
    if isinstance(base, Failure):
        return ()
    programs = {name: arm_programs(folder, name, kernel, sandbox, should_stop) for name, kernel in arms}
    return tuple(
        _arm(
            name,
            base,
            listing,
            executed=bool(executed),
            sections=_sections(sizes[first], sizes[name]),
            programs=program_differences(programs[first], programs[name]),
        )
        for name, listing in others
        if not isinstance(listing, Failure)
    )


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


def _arm(
    name: str,
    base: Listings,
    head: Listings,
    *,
    executed: bool,
    sections: tuple[SectionSize, ...],
    programs: ProgramDifferences,
) -> ArmCode:
    names = sorted(base.keys() | head.keys())
    different = [each for function in names if (each := _difference(function, base, head)) is not None]
    return ArmCode(
        arm=name,
        functions=tuple(different[:MOST_DIFFERENT]),
        more=max(0, len(different) - MOST_DIFFERENT),
        executed=executed,
        sections=sections,
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
