"""Applies the comparison of base with itself to the rows of a comparison."""

from msgspec.structs import replace

from cliffwatch.comparing.comparison import CHANGES, Comparison, ComparisonSet
from cliffwatch.formats.verdicts import Control


def apply_control(judged: list[Comparison], itself: ComparisonSet) -> list[Comparison]:
    """Makes changed rows invalid if base changes against itself: the patch did not cause that."""
    moved = {(row.case, row.metric) for row in itself.rows if row.verdict in CHANGES}
    return [
        replace(row, verdict="invalid", reason="base differs from itself by as much: the host is not quiet")
        if (row.case, row.metric) in moved and row.verdict in CHANGES
        else row
        for row in judged
    ]


def control_of(itself: ComparisonSet) -> Control:
    primary = itself.primary_rows()
    return Control(
        rows=len(primary),
        layouts=itself.head.layouts,
        published=sum(row.verdict in CHANGES for row in primary),
        largest=max((abs(row.change) for row in primary if row.change is not None), default=0.0),
    )
