"""What base against itself says of a comparison."""

from dataclasses import replace

from cliffwatch.comparing.comparison import CHANGES, Comparison, ComparisonSet
from cliffwatch.formats.verdicts import Control


def apply_control(judged: list[Comparison], itself: ComparisonSet) -> list[Comparison]:
    """Rows in which base differs from itself are invalid: whatever moved them was not the patch."""
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
        published=sum(row.verdict in CHANGES for row in primary),
        largest=max((abs(row.change) for row in primary if row.change is not None), default=0.0),
    )
