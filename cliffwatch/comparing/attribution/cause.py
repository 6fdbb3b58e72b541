"""What the functions of a changed row did, in words: `bpf_local_storage_lookup no longer inlined`."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # reports that have nothing counted by function load nothing of it
    from cliffwatch.comparing.attribution.changes import CaseFunctions, Move

_MOST_NAMES = 3
"""Most functions that a cause names. The others are only counted."""

_Words = tuple[str, Sequence[str], str]
"""Names in which rows with one cause may differ, and the words before and after them."""


def name_causes(found: "Iterable[CaseFunctions]", marked: Callable[[str], str] = str) -> tuple[str, ...]:
    """Names the distinct causes of changed rows, in order of first occurrence.

    Rows in which the same code moved to other functions share a cause. `marked` formats the names of
    functions, which are the kernel's own text.
    """
    causes: dict[tuple[str, str], dict[str, None]] = {}
    for each in found:
        if each.changes and not each.hidden_in:
            before, names, after = _words(each, marked)
            causes.setdefault((before, after), {}).update(dict.fromkeys(names))
    return tuple(f"{before}{_join(list(names))}{after}" for (before, after), names in causes.items())


def _words(found: "CaseFunctions", marked: Callable[[str], str]) -> _Words:
    """Says what the function that changed most did."""
    first = found.changes[0]
    name = marked(first.function.name)
    for move in found.moves:
        if first.function in move.functions:
            return _moved(move, found, marked)
    if first.new or first.gone:
        return f"{name} executed in {'head' if first.new else 'base'} alone", (), ""
    return f"{name} executes {'more' if first.change > 0 else 'fewer'} instructions", (), ""


def _moved(move: "Move", found: "CaseFunctions", marked: Callable[[str], str]) -> _Words:
    first = found.changes[0]
    sources, targets = ([marked(each.name) for each in side] for side in (move.sources, move.targets))
    if move.renamed:
        return f"{_join(sources)} renamed to ", targets, ""
    if first.new:
        return "", targets, f" no longer inlined into {_join(sources)}"
    if first.gone and any(each.new and each.function in move.targets for each in found.changes):
        return f"{_join(sources)} now part of ", targets, ""  # a new function has a part: it is no caller
    if first.gone:
        return f"{_join(sources)} inlined into ", targets, ""
    return f"cost moved from {_join(sources)} to ", targets, ""


def _join(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return " and ".join([*names[:_MOST_NAMES], *([f"{more} more"] if more > 0 else [])])
