"""What the functions of a changed row did, in words: `bpf_local_storage_lookup no longer inlined`."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # reports that have nothing counted by function load nothing of it
    from cliffwatch.comparing.attribution.changes import CaseFunctions, FunctionChange, Move


def name_causes(found: "Iterable[CaseFunctions]", marked: Callable[[str], str] = str) -> tuple[str, ...]:
    """Names the distinct causes of changed rows, in order of first occurrence.

    `marked` formats the names of functions, which are the kernel's own text.
    """
    return tuple(dict.fromkeys(_words(each, marked) for each in found if each.changes and not each.hidden_in))


def _words(found: "CaseFunctions", marked: Callable[[str], str]) -> str:
    """Says what the function that changed most did."""
    first = found.changes[0]
    name = marked(first.function.name)
    for move in found.moves:
        if first.function in move.functions:
            return _moved(move, first, marked)
    if first.new or first.gone:
        return f"{name} executed in {'head' if first.new else 'base'} alone"
    return f"{name} executes {'more' if first.change > 0 else 'fewer'} instructions"


def _moved(move: "Move", first: "FunctionChange", marked: Callable[[str], str]) -> str:
    sources, targets = (
        " and ".join(marked(each.name) for each in side) for side in (move.sources, move.targets)
    )
    if move.renamed:
        return f"{sources} renamed to {targets}"
    if first.new:
        return f"{targets} no longer inlined into {sources}"
    if first.gone:
        return f"{sources} inlined into {targets}"
    return f"cost moved from {sources} to {targets}"
