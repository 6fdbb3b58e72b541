"""The cases of a comparison that were not measured."""

from collections.abc import Iterator, Sequence

from cliffwatch.formats.values import OutcomeRecord
from cliffwatch_service.compare.pairing import Answer


def list_unmeasured(answers: Sequence[Answer]) -> Iterator[tuple[str, int, Sequence[OutcomeRecord]]]:
    """Yields title, index of the target, and cases. A target's unchanged builds come before its other cases.

    An unchanged build was not measured because nothing that the case executes differs.
    """
    for index, each in enumerate(answers):
        unchanged = [left for left in each.summary.left_out if left.status == "unchanged-build"]
        others = [left for left in each.summary.left_out if left.status != "unchanged-build"]
        yield from (
            (title, index, left)
            for title, left in (("Unchanged build", unchanged), ("Not run", others))
            if left
        )
