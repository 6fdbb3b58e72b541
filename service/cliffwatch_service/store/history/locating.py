"""Results in icount that locate the commits of changes in walltime."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import Connection

from cliffwatch.samples import Mode
from cliffwatch_service.postgres.rows import row_cursor, tuple_cursor, values
from cliffwatch_service.store.history.bisections import BisectionRow, StepRow


class CountedChangeRow(NamedTuple):
    """A confirmed change in icount of the case and metric of a series in walltime."""

    series: str
    """Digest of the series in walltime."""
    size: float | None
    base: str
    head: str
    by_bisection: bool
    """Whether a bisection named its revisions."""


_COUNTED = """
SELECT timed.digest AS series, size, base.commit AS base, head.commit AS head,
    bisection_id IS NOT NULL AS by_bisection
FROM series AS timed
JOIN series AS counted ON counted.case_id = timed.case_id AND counted.metric = timed.metric
    AND counted.unit = timed.unit
JOIN change ON series_id = counted.id
JOIN revision AS base ON base.id = base_revision_id JOIN revision AS head ON head.id = head_revision_id
WHERE timed.digest = ANY(%s) AND counted.mode = 'icount' AND state = 'confirmed'
ORDER BY timed.digest, abs(size) DESC NULLS LAST, change.id
"""


def counted_changes(connection: Connection[Any], series: Sequence[str]) -> list[CountedChangeRow]:
    """Returns confirmed changes in icount for the cases and metrics of these series, on any platform.

    The largest of each series comes first.
    """
    return tuple_cursor(connection, CountedChangeRow._make).execute(_COUNTED, [list(series)]).fetchall()


def set_located(connection: Connection[Any], digests: Sequence[str], mode: Mode) -> None:
    """Records the mode in which the commit of these changes was located."""
    connection.execute("UPDATE change SET located_in = %s WHERE digest = ANY(%s)", [mode, list(digests)])


def set_why(connection: Connection[Any], bisection_id: int, why: str) -> None:
    """Records in which mode a bisection in walltime continues, and why."""
    connection.execute("UPDATE bisection SET why = %s WHERE id = %s", [why, bisection_id])


_ENDS = """
SELECT step.id, step.platform, step.mode, base.commit AS base, head.commit AS head, step.state, boots,
    request_id, comparison_id, step.reason, asked
FROM bisection_step AS step JOIN bisection ON bisection.id = bisection_id
JOIN revision AS base ON base.id = step.base_revision_id
JOIN revision AS head ON head.id = step.head_revision_id
WHERE step.mode = 'icount' AND branch_id = %(branch)s AND suites @> %(suites)s
  AND (step.base_revision_id, step.head_revision_id)
      = (bisection.base_revision_id, bisection.head_revision_id)
  AND (step.base_revision_id, step.head_revision_id) = (%(base)s, %(head)s)
  AND (bisection.id = %(own)s OR comparison_id IS NOT NULL OR (step.state = 'asked' AND asked >= %(since)s))
ORDER BY bisection.id = %(own)s DESC, comparison_id IS NULL, step.id LIMIT 1
"""


def counted_ends(connection: Connection[Any], row: BisectionRow, since: datetime) -> StepRow | None:
    """Returns the comparison in icount of the ends of a bisection in walltime.

    This is the bisection's own comparison, or else another bisection's of the same range and suites, which is
    finished or was requested since `since`.
    """
    wanted = {
        "own": row.id,
        "branch": row.branch_id,
        "suites": row.suites,
        "base": row.base_revision_id,
        "head": row.head_revision_id,
        "since": since,
    }
    return row_cursor(connection, StepRow).execute(_ENDS, wanted).fetchone()


_MOVED = """
SELECT coalesce((SELECT max(asked) FROM bisection_step WHERE bisection_id = bisection.id), made) AS moved
FROM bisection
WHERE state = 'open' AND branch_id = %(branch)s AND platform = %(platform)s AND mode = 'icount'
  AND base_revision_id = %(base)s AND head_revision_id = %(head)s
"""


def counting_since(connection: Connection[Any], row: BisectionRow, platform: str) -> datetime | None:
    """Returns when the open bisection in icount of the same range last requested a step; None without one."""
    wanted = {
        "branch": row.branch_id,
        "platform": platform,
        "base": row.base_revision_id,
        "head": row.head_revision_id,
    }
    return values(connection, datetime).execute(_MOVED, wanted).fetchone()
