"""Words for the kind of interval that is shown beside a change."""

from collections.abc import Iterable

from cliffwatch.formats.comparison import ComparisonRow


def interval_words(level: float | None) -> str:
    """Returns `99 % interval` or the like; `repeatability band` for a counted value, which has no level."""
    return "repeatability band" if level is None else f"{100 * level:.3g} % interval"


def intervals_words(levels: Iterable[float | None]) -> str:
    """Returns the words for several levels: `95 % or 90 % interval or repeatability band`."""
    confident = [f"{100 * level:.3g} %" for level in levels if level is not None]
    words = [f"{' or '.join(confident)} interval"] if confident else []
    return " or ".join([*words, *("repeatability band" for level in levels if level is None)])


def levels_of(rows: Iterable[ComparisonRow]) -> tuple[float | None, ...]:
    """Returns the distinct levels of the rows' intervals, highest first; None stands for bands."""
    levels = {row.interval_level for row in rows if row.ci_low is not None and row.ci_high is not None}
    return tuple(sorted(levels, key=lambda level: -(level or 0.0)))
