"""What may go after a while: raw outputs, never samples, and nothing of a released kernel."""

from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

_EXPIRED = """
DELETE FROM raw_output USING run
WHERE run.id = raw_output.run_id AND raw_output.received < %(before)s
  AND NOT EXISTS (
    SELECT FROM arm JOIN revision ON revision.id = revision_id
    WHERE arm.run_id = run.id AND revision.subject ~ '^Linux [0-9]+\\.[0-9]+(\\.[0-9]+)?(-rc[0-9]+)?$'
  )
  AND NOT EXISTS (
    SELECT FROM comparison JOIN arm ON arm.id = head_arm_id JOIN change ON change.comparison_id = comparison.id
    WHERE arm.run_id = run.id AND change.state = 'confirmed'
  )
"""


def apply_retention(connection: Connection[Any], days: int | None, now: datetime) -> int:
    """Removes raw outputs older than `days`; how many boots'. Those of releases, and those behind a change, stay."""
    if days is None:
        return 0
    return connection.execute(_EXPIRED, {"before": now - timedelta(days=days)}).rowcount
