"""Webhooks that came, each once, and the commands among them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection


def keep_delivery(connection: Connection[Any], identity: UUID, event: str, action: str | None, now: datetime) -> bool:
    """Whether it is the first of this number."""
    inserted = connection.execute(
        "INSERT INTO github_delivery (id, event, action, received) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING RETURNING id",
        [identity, event, action, now],
    ).fetchone()
    return inserted is not None


def remove_deliveries(connection: Connection[Any], before: datetime) -> int:
    return connection.execute("DELETE FROM github_delivery WHERE received < %s", [before]).rowcount


def last_delivery(connection: Connection[Any]) -> Mapping[str, Any] | None:
    return connection.execute(
        "SELECT event, action, received FROM github_delivery ORDER BY received DESC LIMIT 1"
    ).fetchone()


def keep_command(connection: Connection[Any], *, comment: int, repository: int, number: int, now: datetime) -> bool:
    """Whether a comment is new here, where its repository is known. Keeps which head its pull request had by then."""
    inserted = connection.execute(
        "INSERT INTO github_command (comment_id, repository_id, number, head_known, received)"
        " SELECT %(comment)s, %(repository)s, %(number)s,"
        " (SELECT head FROM github_pull_request WHERE repository_id = %(repository)s AND number = %(number)s), %(now)s"
        " WHERE EXISTS (SELECT FROM github_repository WHERE id = %(repository)s)"
        " ON CONFLICT DO NOTHING RETURNING comment_id",
        {"comment": comment, "repository": repository, "number": number, "now": now},
    ).fetchone()
    return inserted is not None


def command_row(connection: Connection[Any], comment: int) -> Mapping[str, Any] | None:
    return connection.execute("SELECT * FROM github_command WHERE comment_id = %s FOR UPDATE", [comment]).fetchone()


def end_command(connection: Connection[Any], comment: int, outcome: str, now: datetime) -> None:
    connection.execute(
        "UPDATE github_command SET outcome = %s, done = %s WHERE comment_id = %s", [outcome, now, comment]
    )


def command_counts(connection: Connection[Any]) -> dict[str, int]:
    rows = connection.execute(
        "SELECT coalesce(outcome, 'waiting') AS outcome, count(*) AS commands FROM github_command GROUP BY 1"
    ).fetchall()
    return {row["outcome"]: row["commands"] for row in rows}
