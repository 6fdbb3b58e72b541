"""Changes with the places of their ranges on branches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor
from cliffwatch_service.store.history.changes import ChangeKind, ChangeState


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeChangeRow:
    """A change that a comparison showed, with the place of its range on a branch."""

    id: int
    series_id: int
    state: ChangeState
    kind: ChangeKind
    size: float | None
    """Fraction; None for a change without a percentage."""
    ci_low: float | None
    ci_high: float | None
    base_value: float | None
    """Value of base, for a change without a percentage."""
    head_value: float | None
    """Value of head, for a change without a percentage."""
    report_id: int | None
    base_revision_id: int
    head_revision_id: int
    branch_id: int
    after: int
    """Ordinal after which the change comes."""
    until: int
    """Ordinal at which it is there at the latest."""


_RANGES = """
SELECT change.id, series_id, state, kind, size, ci_low, ci_high, base_value, head_value, report_id,
    base_revision_id, head_revision_id, last.branch_id,
    coalesce(first.ordinal, last.ordinal - 1) AS after, last.ordinal AS until
FROM change
JOIN branch_revision AS last ON last.revision_id = coalesce(landed_revision_id, head_revision_id)
LEFT JOIN branch_revision AS first ON first.branch_id = last.branch_id
    AND first.revision_id = base_revision_id AND landed_revision_id IS NULL
WHERE series_id = ANY(%s) AND kind <> 'step' AND state <> 'candidate'
  AND (landed_revision_id IS NOT NULL OR first.ordinal < last.ordinal)
ORDER BY series_id, last.branch_id, change.id
"""


def ranges_of_series(connection: Connection[Any], series: Sequence[int]) -> list[RangeChangeRow]:
    """Returns the changes of these series that comparisons showed, once for each branch that has them.

    A change that came to a branch by a merge has the range of the merge.
    """
    return row_cursor(connection, RangeChangeRow).execute(_RANGES, [list(series)]).fetchall()


def restore_changes(connection: Connection[Any], ids: Sequence[int]) -> None:
    """Confirms superseded changes again. They have no report yet."""
    connection.execute("UPDATE change SET state = 'confirmed' WHERE id = ANY(%s)", [list(ids)])
