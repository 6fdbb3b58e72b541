"""What the bounds beside a change are."""

from collections.abc import Iterable

from cliffwatch.formats.comparison import ComparisonRow


def interval_words(level: float | None) -> str:
    """What bounds are: a `99 % interval`, or of a counted value the `repeatability band`."""
    return "repeatability band" if level is None else f"{100 * level:.3g} % interval"


def intervals_words(levels: Iterable[float | None]) -> str:
    """The same of several: `95 % or 90 % interval or repeatability band`."""
    confident = [f"{100 * level:.3g} %" for level in levels if level is not None]
    words = [f"{' or '.join(confident)} interval"] if confident else []
    return " or ".join([*words, *("repeatability band" for level in levels if level is None)])


def levels_of(rows: Iterable[ComparisonRow]) -> tuple[float | None, ...]:
    """The levels of the rows' intervals, None for bands, the highest first."""
    levels = {row.interval_level for row in rows if row.ci_low is not None and row.ci_high is not None}
    return tuple(sorted(levels, key=lambda level: -(level or 0.0)))
