"""The cases of a comparison that were not measured."""

from collections.abc import Iterator, Sequence

from cliffwatch.formats.values import OutcomeRecord
from cliffwatch_service.compare.pairing import Answer


def not_measured(answers: Sequence[Answer]) -> Iterator[tuple[str, int, Sequence[OutcomeRecord]]]:
    """By target, under a title: what need not be measured, since nothing that it executes differs, and the
    rest.
    """
    for index, each in enumerate(answers):
        unchanged = [left for left in each.summary.left_out if left.status == "unchanged-build"]
        others = [left for left in each.summary.left_out if left.status != "unchanged-build"]
        yield from (
            (title, index, left)
            for title, left in (("Unchanged build", unchanged), ("Not run", others))
            if left
        )
