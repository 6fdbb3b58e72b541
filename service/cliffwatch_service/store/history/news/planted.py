"""Steps planted on purpose, and whether reports name them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedRow:
    """A commit that was made slower on purpose."""

    commit: str
    planted: datetime
    found: datetime | None
    """When the report was opened that names it as the culprit; None if none does."""


def keep_planted(connection: Connection[Any], commit: str, planted: datetime, *, by: str, note: str) -> None:
    connection.execute(
        "INSERT INTO planted_step (commit, planted, by, note) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (commit) DO UPDATE"
        " SET planted = excluded.planted, by = excluded.by, note = excluded.note",
        [commit, planted, by, note],
    )


_PLANTED = """
SELECT planted_step.commit, planted, (
    SELECT min(opened) FROM regression_report
    JOIN revision AS head ON head.id = head_revision_id JOIN revision AS base ON base.id = base_revision_id
    WHERE head.commit = planted_step.commit AND head.parents[1] = base.commit AND state <> 'noise'
) AS found
FROM planted_step ORDER BY planted, planted_step.commit
"""


def planted_steps(connection: Connection[Any]) -> list[PlantedRow]:
    """Returns the planted steps, oldest first."""
    return row_cursor(connection, PlantedRow).execute(_PLANTED).fetchall()
