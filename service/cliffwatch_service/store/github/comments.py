"""What was posted for a pull request: its report, check runs, and second comments for confirmed regressions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from psycopg import Connection


def posted(connection: Connection[Any], pull_request: int, kind: str, about: str = "") -> Mapping[str, Any]:
    """What is known of it; made where it is not there."""
    connection.execute(
        "INSERT INTO github_comment (pull_request_id, kind, about) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        [pull_request, kind, about],
    )
    row: Mapping[str, Any] | None = connection.execute(
        "SELECT * FROM github_comment WHERE pull_request_id = %s AND kind = %s AND about = %s",
        [pull_request, kind, about],
    ).fetchone()
    assert row is not None
    return row


def keep_posted(
    connection: Connection[Any], before: Mapping[str, Any], *, number: int | None, version: int, digest: str, now: datetime
) -> bool:
    """Keeps what was posted, unless something newer was meanwhile; whether it was kept."""
    kept = connection.execute(
        "UPDATE github_comment SET number = %(number)s, version = %(version)s, digest = %(digest)s, posted = %(now)s"
        " WHERE pull_request_id = %(pull_request)s AND kind = %(kind)s AND about = %(about)s AND version <= %(version)s"
        " RETURNING kind",
        {
            "pull_request": before["pull_request_id"],
            "kind": before["kind"],
            "about": before["about"],
            "number": number,
            "version": version,
            "digest": digest,
            "now": now,
        },
    ).fetchone()
    return kept is not None


def regressions_told(connection: Connection[Any], pull_request: int) -> list[str]:
    """What second comments were about."""
    rows = connection.execute(
        "SELECT about FROM github_comment WHERE pull_request_id = %s AND kind = 'regression' AND posted IS NOT NULL",
        [pull_request],
    ).fetchall()
    return [row["about"] for row in rows]
