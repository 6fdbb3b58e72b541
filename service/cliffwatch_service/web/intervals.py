"""What the bounds beside a number are, and from which size on a change is told: each row says its own."""

from collections.abc import Iterable, Mapping
from typing import Any

from cliffwatch.comparing.compare import ALPHA

LEVEL = 1 - ALPHA
"""Of the interval of a noisy row."""


def threshold_of(row: Mapping[str, Any], notable: float) -> float:
    """From which size on a row's change is told. Stored rows of older versions have none: that of their comparison then."""
    own = row.get("threshold")
    return notable if own is None else float(own)


def level_of(row: Mapping[str, Any]) -> float | None:
    """The confidence of a row's interval; None for the band in which a counted value repeats. Stored rows of older versions do
    not say it: what was tested has a p-value, what was counted has none.
    """
    if "interval_level" in row:
        level: float | None = row["interval_level"]
        return level
    return None if row["p"] is None else LEVEL


def interval_words(level: float | None) -> str:
    """What an interval is: `99 % interval`, or `repeatability band`."""
    return "repeatability band" if level is None else f"{100 * level:.3g} % interval"


def kinds_of(rows: Iterable[Mapping[str, Any]]) -> tuple[float | None, ...]:
    """The levels of the rows' intervals, intervals of some confidence first."""
    found = {level_of(row) for row in rows if row["ci_low"] is not None and row["ci_high"] is not None}
    return tuple(sorted(found, key=lambda level: (level is None, level or 0.0)))
