"""Writes code.json: how the functions that the cases executed differ between the arms' kernels."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

from cliffwatch.formats.code.differences import MOST_DIFFERENT, MOST_LINES, ArmCode, CodeDifference, CodeRecord
from cliffwatch.formats.code.function_counts import FunctionCountsRecord
from cliffwatch.formats.reading import Wrong, read_as
from cliffwatch.samples import CONTROL
from cliffwatch_runner.build.code.functions import Listings, function_listings
from cliffwatch_runner.results.files import write_document
from cliffwatch_runner.results.function_counts import FUNCTION_COUNTS
from cliffwatch_runner.sandbox.sandbox import Sandbox

CODE = "code.json"
_LONGEST_LINE = 400


def write_code(folder: Path, kernels: Mapping[str, Path], sandbox: Sandbox) -> None:
    """Of the arms with a kernel, each against the first one; `kernels` are the folders of their images. Nothing is written of a run that
    counted nothing, or whose kernels cannot be listed. Raises Stopped, OSError where the host cannot keep it.
    """
    executed = frozenset(_executed(folder))
    arms = [(name, kernel) for name, kernel in kernels.items() if name != CONTROL]
    if not executed or len(arms) < 2:
        return
    listings = {name: function_listings(kernel, executed, sandbox) for name, kernel in arms}
    base, *others = listings.items()
    if isinstance(base[1], str):
        return
    differences = [_arm(name, base[1], listing) for name, listing in others if not isinstance(listing, str)]
    if differences:
        write_document(folder / CODE, CodeRecord(arms=tuple(differences)))


def _arm(name: str, base: Listings, head: Listings) -> ArmCode:
    names = sorted(base.keys() | head.keys())
    different = [each for function in names if (each := _difference(function, base, head)) is not None]
    return ArmCode(arm=name, functions=tuple(different[:MOST_DIFFERENT]))


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
    """Names of the kernel's functions that any case of any boot executed within what it measured."""
    for path in sorted((folder / "boots").glob(f"*/{FUNCTION_COUNTS}")):
        counts = read_as(path.read_bytes(), FunctionCountsRecord)
        if isinstance(counts, Wrong):
            continue
        places = {place for case in counts.cases for place, _ in case.counts}
        functions = [counts.functions[place] for place in places if place < len(counts.functions)]
        yield from (each.name for each in functions if each.object == "kernel")
