"""Webhook deliveries, each stored once, and the commands among them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from psycopg import Connection

from cliffwatch_service.postgres.rows import pairs, row_cursor

CommandOutcome = Literal["done", "wrong", "declined", "gone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """A webhook delivery."""

    event: str
    action: str | None
    received: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """A comment that begins like a command."""

    number: int
    """Number of the pull request."""
    head_known: str | None
    """Head of the pull request when the comment came; None if it was unknown."""
    outcome: CommandOutcome | None


def keep_delivery(
    connection: Connection[Any], identity: UUID, event: str, action: str | None, now: datetime
) -> bool:
    """Returns whether the delivery is new."""
    inserted = connection.execute(
        "INSERT INTO github_delivery (id, event, action, received) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING RETURNING id",
        [identity, event, action, now],
    ).fetchone()
    return inserted is not None


def remove_deliveries(connection: Connection[Any], before: datetime) -> int:
    return connection.execute("DELETE FROM github_delivery WHERE received < %s", [before]).rowcount


def last_delivery(connection: Connection[Any]) -> DeliveryRow | None:
    query = "SELECT event, action, received FROM github_delivery ORDER BY received DESC LIMIT 1"
    return row_cursor(connection, DeliveryRow).execute(query).fetchone()


def keep_command(
    connection: Connection[Any],
    *,
    comment: int,
    repository: int,
    number: int,
    now: datetime,
    came_now: bool = True,
) -> bool:
    """Stores a comment of a known repository; returns whether it is new.

    If the comment `came_now`, the present head of its pull request is stored with it.
    """
    inserted = connection.execute(
        "INSERT INTO github_command (comment_id, repository_id, number, head_known, received)"
        " SELECT %(comment)s, %(repository)s, %(number)s,"
        " (SELECT head FROM github_pull_request"
        "  WHERE repository_id = %(repository)s AND number = %(number)s AND %(came_now)s), %(now)s"
        " WHERE EXISTS (SELECT FROM github_repository WHERE id = %(repository)s)"
        " ON CONFLICT DO NOTHING RETURNING comment_id",
        {"comment": comment, "repository": repository, "number": number, "now": now, "came_now": came_now},
    ).fetchone()
    return inserted is not None


def command_row(connection: Connection[Any], comment: int) -> CommandRow | None:
    """Locks the command until the end of the transaction."""
    query = "SELECT number, head_known, outcome FROM github_command WHERE comment_id = %s FOR UPDATE"
    return row_cursor(connection, CommandRow).execute(query, [comment]).fetchone()


def end_command(connection: Connection[Any], comment: int, outcome: CommandOutcome, now: datetime) -> None:
    connection.execute(
        "UPDATE github_command SET outcome = %s, done = %s WHERE comment_id = %s", [outcome, now, comment]
    )


def command_counts(connection: Connection[Any]) -> dict[str, int]:
    query = (
        "SELECT coalesce(outcome, 'waiting') AS outcome, count(*) AS commands FROM github_command GROUP BY 1"
    )
    return dict(pairs(connection, str, int).execute(query).fetchall())
