"""Columns of the compare page: one per target, with thresholds, interval levels and base vs base check."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.ordering import Detectable, detectable
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Control
from cliffwatch.reports.context import trials
from cliffwatch.reports.several.across import Target
from cliffwatch_service.compare.pairing import Answer
from cliffwatch_service.web.layout.drawing import Scale, band, band_edges
from cliffwatch_service.web.layout.wording import intervals_words, levels_of

Rows = Sequence[ComparisonRow]
"""The rows of one target."""


@dataclass(frozen=True, slots=True)
class Column:
    """A target with its comparison."""

    target: Target
    answer: Answer
    notable: float
    """Threshold of the comparison, a fraction."""
    thresholds: tuple[float, ...]
    """Distinct thresholds of the rows, smallest first."""
    bands: tuple[tuple[float, float], ...]
    """Left edge and width of the area below each threshold, on the scale of the bars."""
    levels: tuple[float | None, ...]
    """Distinct interval levels, highest first; None stands for run-to-run noise."""
    control_edges: tuple[float, float] | None
    """X coordinates of the base vs base check's largest difference, either way; None without one."""
    control: Control | None
    detectable: Detectable | None
    """Of the unchanged rows."""
    boots: str
    """Number of boots, in words."""

    @property
    def mixed(self) -> bool:
        return len(self.levels) > 1

    @property
    def intervals(self) -> str:
        """Words for the kinds of interval in this column."""
        return intervals_words(self.levels)


def thresholds_of(answer: Answer, rows: Iterable[ComparisonRow]) -> tuple[float, ...]:
    """Returns the distinct thresholds of the rows, smallest first; without rows, that of the comparison."""
    return tuple(sorted({row.threshold for row in rows})) or (answer.summary.notable,)


def column_of(
    target: Target, answer: Answer, rows: Rows, thresholds: tuple[float, ...], scale: Scale
) -> Column:
    summary = answer.summary
    control = summary.control
    return Column(
        target=target,
        answer=answer,
        notable=summary.notable,
        thresholds=thresholds,
        bands=tuple(band(each, scale) for each in thresholds),
        levels=levels_of(rows),
        control=control,
        detectable=detectable(rows),
        boots=trials(summary.base, summary.head),
        control_edges=None if control is None else band_edges(control.largest, scale),
    )
