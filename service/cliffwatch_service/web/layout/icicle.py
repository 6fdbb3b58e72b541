"""Icicle charts of a case's instructions: the whole case, its parts, their functions.

Base and head share one scale. Callers are not counted (docs/decisions/0021), so the parent of a function is
the place of its code: the kernel, BPF programs or user space.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.attribution.operations import Function, OperationCounts
from cliffwatch.formats.code.function_counts import CodeObject
from cliffwatch.reports.styles import plain

_PARTS: Mapping[CodeObject, str] = {"kernel": "kernel", "bpf": "BPF programs", "user": "user space"}
_NARROWEST = 0.5
"""Percent of the larger side. Narrower functions of a part share one box."""
_LABELLED = 3.0
"""Percent of the larger side. Narrower boxes have a title but no label."""
_CHANGED = 0.005
"""Fraction of the larger side. Boxes with a larger difference are coloured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box of an icicle."""

    level: int
    """Row: 0 the whole case, 1 a part, 2 a function."""
    left: float
    """Percent of the larger side."""
    width: float
    """Percent of the larger side."""
    label: str
    """Text in the box; empty if the box is too narrow."""
    title: str
    """Tooltip."""
    kind: str
    """`more`, `less` or `same`: head against base."""


@dataclass(frozen=True, slots=True)
class Icicle:
    """Both sides of a case."""

    base: Sequence[Box]
    head: Sequence[Box]
    parts: Sequence[tuple[str, float, float]]
    """Name of each part, and its instructions per operation in base and head."""


def icicle_of(base: OperationCounts, head: OperationCounts) -> Icicle | None:
    """Draws the mean counts of a case. None if its operations are unknown or nothing was counted."""
    ours, theirs = base.instructions, head.instructions
    whole = max(sum(ours.values()), sum(theirs.values()))
    if base.whole or head.whole or whole <= 0:
        return None
    functions = sorted(
        ours.keys() | theirs.keys(), key=lambda each: (-_larger(each, ours, theirs), each.name)
    )
    parts = [
        (name, _sum(ours, part), _sum(theirs, part))
        for part, name in _PARTS.items()
        if any(each.object == part for each in functions)
    ]
    sides = [list(_boxes(side, (ours, theirs), functions, whole)) for side in (ours, theirs)]
    return Icicle(sides[0], sides[1], parts)


def _larger(function: Function, ours: Mapping[Function, float], theirs: Mapping[Function, float]) -> float:
    return max(ours.get(function, 0.0), theirs.get(function, 0.0))


def _sum(side: Mapping[Function, float], part: CodeObject) -> float:
    return sum(count for function, count in side.items() if function.object == part)


def _boxes(
    side: Mapping[Function, float],
    both: tuple[Mapping[Function, float], Mapping[Function, float]],
    functions: Sequence[Function],
    whole: float,
) -> Iterator[Box]:
    """Yields the boxes of one side. Both sides have the same order of functions, so that shifts show."""
    ours, theirs = both
    total = (sum(ours.values()), sum(theirs.values()))
    yield _box(0, 0.0, sum(side.values()), "all", total, whole)
    left = 0.0
    for part, name in _PARTS.items():
        inside = [each for each in functions if each.object == part]
        count = _sum(side, part)
        if not count:
            continue
        yield _box(1, left, count, name, (_sum(ours, part), _sum(theirs, part)), whole)
        drawn = left
        narrow = []
        for each in inside:
            if 100 * _larger(each, ours, theirs) / whole < _NARROWEST:
                narrow.append(each)
            elif own := side.get(each, 0.0):
                yield _box(
                    2, drawn, own, plain(each.name), (ours.get(each, 0.0), theirs.get(each, 0.0)), whole
                )
                drawn += own
        rest = sum(side.get(each, 0.0) for each in narrow)
        if rest:
            sums = tuple(sum(of_side.get(each, 0.0) for each in narrow) for of_side in both)
            yield _box(2, drawn, rest, f"{len(narrow)} smaller", (sums[0], sums[1]), whole)
        left += count


def _box(level: int, left: float, count: float, name: str, counts: tuple[float, float], whole: float) -> Box:
    base, head = counts
    width = 100 * count / whole
    moved = abs(head - base) > _CHANGED * whole
    return Box(
        level=level,
        left=round(100 * left / whole, 3),
        width=round(width, 3),
        label=name if width >= _LABELLED else "",
        title=f"{name}: base {base:.2f}, head {head:.2f} instructions per operation",
        kind=("more" if head > base else "less") if moved else "same",
    )
