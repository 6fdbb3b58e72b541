"""An overview of all changes of a comparison: one strip per target, on the scale of the rows' bars."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.comparison import CHANGES, size_of
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.reports import figures
from cliffwatch.reports.several.across import Across
from cliffwatch_service.web.compare.columns import Column
from cliffwatch_service.web.layout.drawing import Scale
from cliffwatch_service.web.layout.wording import tone

STRIP_HEIGHT = 18


@dataclass(frozen=True, slots=True)
class ChangeStrip:
    """The changes of one target."""

    name: str
    below: tuple[float, float]
    """Left edge and width of the area below the smallest threshold. The whole strip is 120 wide."""
    paths: tuple[tuple[str, str], ...]
    """CSS class and SVG path per kind of row. A stroke is taller if several rows changed alike."""
    words: str
    """Description for screen readers."""


@dataclass(frozen=True, slots=True)
class LargestChange:
    """The row of the largest reported change."""

    change: str
    case: str
    target: str
    """Empty if there is only one target."""
    href: str
    """Path below the comparison's URL."""


def change_strips(rows: Sequence[Across], columns: Sequence[Column], scale: Scale) -> tuple[ChangeStrip, ...]:
    return tuple(
        _strip([row.cells[index] for row in rows], column, scale) for index, column in enumerate(columns)
    )


def _strip(cells: Iterable[ComparisonRow | None], column: Column, scale: Scale) -> ChangeStrip:
    places: Counter[tuple[str, float]] = Counter()
    for cell in cells:
        if cell is not None and cell.change is not None:
            kind = tone(cell.verdict) if cell.verdict in CHANGES else "same"
            places[kind, round(2 * scale.x(cell.change)) / 2] += 1
    paths = {
        wanted: "".join(_stroke(x, count) for (kind, x), count in sorted(places.items()) if kind == wanted)
        for wanted in ("same", *dict.fromkeys(kind for kind, _ in places if kind != "same"))
    }
    counts = Counter[str]()
    for (kind, _), count in places.items():
        counts[kind] += count
    words = ", ".join(
        f"{count} {'not reported' if kind == 'same' else kind}" for kind, count in counts.items()
    )
    return ChangeStrip(
        column.target.name,
        column.bands[0],
        tuple((kind, path) for kind, path in paths.items() if path),
        words,
    )


def _stroke(x: float, count: int) -> str:
    height = min(STRIP_HEIGHT - 2, 5 + 2 * count)
    return f"M{x:g} {(STRIP_HEIGHT - height) / 2:g}v{height}"


def largest_change(rows: Iterable[Across], columns: Sequence[Column]) -> LargestChange | None:
    """Finds the largest reported change; None if no change is reported."""
    changed = [
        (size_of(cell), index, row, cell)
        for row in rows
        for index, cell in enumerate(row.cells)
        if cell is not None and cell.verdict in CHANGES
    ]
    if not changed:
        return None
    _, index, row, cell = max(changed, key=lambda each: each[0])
    params = " ".join(f"{name}={value}" for name, value in row.params.items())
    return LargestChange(
        change=figures.step(cell) if cell.change is None else figures.percent(cell.change),
        case=f"{row.benchmark} {params}".strip(),
        target=columns[index].target.name if len(columns) > 1 else "",
        href=row.path,
    )
