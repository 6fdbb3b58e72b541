"""Candidates: changes that only history shows, until a fresh comparison confirms or refutes them."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor
from cliffwatch_service.store.history.changes import ChangeFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRow:
    """A change of a series for which a fresh comparison was made."""

    id: int
    digest: str
    series_id: int
    series: str
    size: float
    """Size of the step in its history, a fraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshFigures:
    """What a fresh comparison measured in a series, as fractions."""

    change: float | None
    low: float | None
    high: float | None
    mde: float | None
    """The smallest change that it could have detected."""


def keep_candidate(
    connection: Connection[Any], change: ChangeFacts, confirmation_id: int, now: datetime
) -> None:
    """Stores a candidate that waits for a fresh comparison. Does nothing if the change is already known."""
    facts = {**asdict(change), "now": now, "confirmation": confirmation_id}
    connection.execute(
        "INSERT INTO change (digest, series_id, base_revision_id, head_revision_id, state, kind, size,"
        " confirmation_id, found)"
        " VALUES (%(digest)s, %(series_id)s, %(base_revision_id)s, %(head_revision_id)s, %(state)s,"
        " %(kind)s, %(size)s, %(confirmation)s, %(now)s) ON CONFLICT (digest) DO NOTHING",
        facts,
    )


def candidates_of(connection: Connection[Any], confirmation_id: int) -> list[CandidateRow]:
    query = (
        "SELECT change.id, change.digest, series_id, series.digest AS series, size FROM change"
        " JOIN series ON series.id = series_id"
        " WHERE confirmation_id = %s AND state = 'candidate' ORDER BY change.id"
    )
    return row_cursor(connection, CandidateRow).execute(query, [confirmation_id]).fetchall()


def move_change(connection: Connection[Any], identity: int, digest: str, base: int, head: int) -> bool:
    """Gives a change another range. Returns False if that change is already known."""
    moved = connection.execute(
        "UPDATE change SET digest = %(digest)s, base_revision_id = %(base)s, head_revision_id = %(head)s"
        " WHERE id = %(id)s"
        " AND NOT EXISTS (SELECT FROM change AS other"
        " WHERE other.digest = %(digest)s AND other.id <> %(id)s) RETURNING id",
        {"id": identity, "digest": digest, "base": base, "head": head},
    )
    return moved.fetchone() is not None


def refute_candidate(connection: Connection[Any], identity: int, figures: FreshFigures) -> None:
    connection.execute(
        "UPDATE change SET state = 'refuted', fresh_change = %s, fresh_low = %s, fresh_high = %s,"
        " fresh_mde = %s WHERE id = %s",
        [figures.change, figures.low, figures.high, figures.mde, identity],
    )


_EXPLAINED = """
UPDATE change SET state = 'superseded'
FROM branch_revision AS before, branch_revision AS after
WHERE change.state = 'candidate' AND before.branch_id = %(branch)s AND after.branch_id = %(branch)s
  AND before.revision_id = change.base_revision_id AND after.revision_id = change.head_revision_id
  AND EXISTS (
      SELECT FROM change AS other
      JOIN branch_revision AS low ON low.branch_id = %(branch)s AND low.revision_id = other.base_revision_id
      JOIN branch_revision AS high ON high.branch_id = %(branch)s
          AND high.revision_id = other.head_revision_id
      WHERE other.series_id = change.series_id AND other.state = 'confirmed'
        AND low.ordinal >= before.ordinal AND high.ordinal <= after.ordinal)
"""

_EMPTY = """
UPDATE confirmation SET state = 'unanswered', reason = 'its candidates were confirmed by other comparisons',
    ended = %(now)s
WHERE branch_id = %(branch)s AND state = 'waiting'
  AND NOT EXISTS (SELECT FROM change WHERE confirmation_id = confirmation.id AND state = 'candidate')
"""


def supersede_explained(connection: Connection[Any], branch_id: int, now: datetime) -> None:
    """Supersedes candidates whose range holds a confirmed change of the same series.

    Ends waiting confirmations that have no candidate left.
    """
    connection.execute(_EXPLAINED, {"branch": branch_id})
    connection.execute(_EMPTY, {"branch": branch_id, "now": now})
