"""Columns of the compare page: a target each, with what is to be known of its numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.ordering import Detectable, detectable
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Control
from cliffwatch.reports.several.across import Target
from cliffwatch_service.compare.pairing import Answer
from cliffwatch_service.web.layout.drawing import Scale, band, band_edges
from cliffwatch_service.web.layout.intervals import intervals_words, levels_of

Rows = Sequence[ComparisonRow]
"""Of one target."""


@dataclass(frozen=True, slots=True)
class Column:
    """A target with the thresholds of its rows and the levels of their intervals. On the bars' scale: what
    lies below each threshold, and the largest difference of the A/A control. `detectable` is of its
    unchanged rows.
    """

    target: Target
    answer: Answer
    notable: float
    thresholds: tuple[float, ...]
    bands: tuple[tuple[float, float], ...]
    levels: tuple[float | None, ...]
    control_edges: tuple[float, float] | None
    control: Control | None
    detectable: Detectable | None
    boots: str

    @property
    def mixed(self) -> bool:
        return len(self.levels) > 1

    @property
    def intervals(self) -> str:
        """What the bounds of its rows are."""
        return intervals_words(self.levels)


def thresholds_of(answer: Answer, rows: Iterable[ComparisonRow]) -> tuple[float, ...]:
    """From which sizes on changes of these rows are reported, the smallest first."""
    return tuple(sorted({row.threshold for row in rows})) or (answer.summary.notable,)


def column_of(
    target: Target, answer: Answer, rows: Rows, thresholds: tuple[float, ...], scale: Scale
) -> Column:
    summary = answer.summary
    base, head = summary.base.boots, summary.head.boots
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
        boots=f"{count_noun(base, 'boot')} per kernel"
        if base == head
        else f"{base} and {count_noun(head, 'boot')}",
        control_edges=None if control is None else band_edges(control.largest, scale),
    )
