"""Writes code.json: how the functions that the cases executed differ between the arms' kernels."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

from cliffwatch.formats.code.differences import MOST_DIFFERENT, MOST_LINES, ArmCode, CodeDifference, CodeRecord
from cliffwatch.formats.code.function_counts import FunctionCountsRecord
from cliffwatch.formats.reading import Wrong, read_as
from cliffwatch.samples import CONTROL
from cliffwatch_runner.build.code.functions import listing_of
from cliffwatch_runner.build.code.listing import Listing
from cliffwatch_runner.results.files import write_document
from cliffwatch_runner.results.function_counts import FUNCTION_COUNTS

CODE = "code.json"
_LONGEST_LINE = 400


def write_code(folder: Path, kernels: Mapping[str, Path]) -> None:
    """Of the arms with a kernel, each against the first one; `kernels` are the folders of their images. Nothing is written of a run that
    counted nothing, or whose kernels cannot be listed. Raises OSError where the host cannot keep it.
    """
    executed = frozenset(_executed(folder))
    arms = [(name, kernel) for name, kernel in kernels.items() if name != CONTROL]
    if not executed or len(arms) < 2:
        return
    base = _Code.of(arms[0][1])
    differences = [] if base is None else [_arm(name, base, kernel, executed) for name, kernel in arms[1:]]
    if differences:
        write_document(folder / CODE, CodeRecord(arms=tuple(each for each in differences if each is not None)))


class _Code:
    """The functions of a kernel: where each begins and ends, and its listing."""

    def __init__(self, listing: Listing, functions: Mapping[str, tuple[int, int]]) -> None:
        self.listing = listing
        self.functions = functions

    @classmethod
    def of(cls, kernel: Path) -> "_Code | None":
        read = listing_of(kernel)
        if isinstance(read, str):
            return None
        return cls(read[0], {name: (start, end) for name, start, end in read[1].functions()})

    def lines(self, name: str) -> list[str]:
        place = self.functions.get(name)
        return [] if place is None else self.listing.lines(*place)

    def bytes(self, name: str) -> int | None:
        place = self.functions.get(name)
        return None if place is None else place[1] - place[0]


def _arm(name: str, base: _Code, kernel: Path, executed: frozenset[str]) -> ArmCode | None:
    head = _Code.of(kernel)
    if head is None:
        return None
    different = [each for function in sorted(executed) if (each := _difference(function, base, head)) is not None]
    return ArmCode(arm=name, functions=tuple(different[:MOST_DIFFERENT]))


def _difference(name: str, base: _Code, head: _Code) -> CodeDifference | None:
    old, new = base.lines(name), head.lines(name)
    if old == new:
        return None
    lines = [
        line[:_LONGEST_LINE]
        for line in difflib.unified_diff(old, new, n=0, lineterm="")
        if not line.startswith(("---", "+++"))
    ]
    return CodeDifference(
        name=name,
        base=base.bytes(name),
        head=head.bytes(name),
        lines=tuple(lines[:MOST_LINES]),
        more=max(0, len(lines) - MOST_LINES),
    )


def _executed(folder: Path) -> Iterator[str]:
    """Names of the kernel's functions that any case of any boot executed within what it measured."""
    for path in sorted((folder / "boots").glob(f"*/{FUNCTION_COUNTS}")):
        counts = read_as(path.read_bytes(), FunctionCountsRecord)
        if isinstance(counts, Wrong):
            continue
        places = {place for case in counts.cases for place, _ in case.counts}
        functions = [counts.functions[place] for place in places if place < len(counts.functions)]
        yield from (each.name for each in functions if each.object == "kernel")
