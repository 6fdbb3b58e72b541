"""Subscriptions: who gets news of regression reports, and where."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg import Connection

from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values

Channel = Literal["mail", "webhook", "issue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionFacts:
    """A subscription to store. An empty list of authors, subsystems or suites leaves the filter open."""

    token_id: int
    channel: Channel
    address: str
    secret: str | None
    authors: list[str]
    subsystems: list[str]
    suites: list[str]
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRow:
    """A subscription that has not ended."""

    id: int
    token_id: int
    owner: str
    """Name of its token."""
    channel: Channel
    address: str
    authors: list[str]
    subsystems: list[str]
    suites: list[str]
    muted_until: datetime | None
    created: datetime
    delivered: int
    """Number of deliveries that succeeded."""
    waiting: int
    """Number of deliveries that wait."""
    given_up: int
    """Number of deliveries that were given up."""
    reason: str | None
    """Why the newest failed delivery failed."""


_SUBSCRIPTIONS = """
SELECT subscription.id, token_id, token.name AS owner, channel, address, authors, subsystems, suites,
    muted_until, subscription.created, counts.delivered, counts.waiting, counts.given_up, counts.reason
FROM subscription JOIN token ON token.id = token_id
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE state = 'delivered') AS delivered,
        count(*) FILTER (WHERE state = 'waiting') AS waiting,
           count(*) FILTER (WHERE state = 'given up') AS given_up,
           (array_agg(reason ORDER BY id DESC) FILTER (WHERE reason IS NOT NULL
               AND state <> 'delivered'))[1] AS reason
    FROM news_delivery WHERE subscription_id = subscription.id
) AS counts
WHERE ended IS NULL
"""


def live_subscriptions(connection: Connection[Any], token_id: int | None = None) -> list[SubscriptionRow]:
    """Returns the subscriptions that have not ended. `token_id` None leaves the token open."""
    query = _SUBSCRIPTIONS + " AND (%(token)s::int IS NULL OR token_id = %(token)s) ORDER BY subscription.id"
    return row_cursor(connection, SubscriptionRow).execute(query, {"token": token_id}).fetchall()


def subscription_row(connection: Connection[Any], number: int) -> SubscriptionRow | None:
    query = _SUBSCRIPTIONS + " AND subscription.id = %s"
    return row_cursor(connection, SubscriptionRow).execute(query, [number]).fetchone()


def insert_subscription(connection: Connection[Any], facts: SubscriptionFacts) -> int | None:
    """Returns the id; None if the address has a subscription already."""
    inserted = values(connection, int).execute(
        "INSERT INTO subscription (token_id, channel, address, secret, authors, subsystems, suites, created)"
        " VALUES (%(token_id)s, %(channel)s, %(address)s, %(secret)s, %(authors)s, %(subsystems)s,"
        " %(suites)s, %(created)s)"
        " ON CONFLICT (channel, lower(address)) WHERE ended IS NULL DO NOTHING RETURNING id",
        asdict(facts),
    )
    return inserted.fetchone()


def end_subscription(connection: Connection[Any], number: int, now: datetime) -> None:
    """Ends a subscription and gives up its waiting deliveries."""
    connection.execute("UPDATE subscription SET ended = %s, secret = NULL WHERE id = %s", [now, number])
    connection.execute(
        "UPDATE news_delivery SET state = 'given up', ended = %s, reason = 'the subscription was ended'"
        " WHERE subscription_id = %s AND state = 'waiting'",
        [now, number],
    )


def mute(connection: Connection[Any], number: int, until: datetime | None) -> None:
    """Mutes a subscription until a time; None ends that."""
    connection.execute("UPDATE subscription SET muted_until = %s WHERE id = %s", [until, number])


def mute_report(connection: Connection[Any], number: int, report_id: int) -> None:
    """Mutes one report for a subscription."""
    connection.execute(
        "INSERT INTO muted_report (subscription_id, report_id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        [number, report_id],
    )


def subscriptions_muting(connection: Connection[Any], report_id: int) -> list[int]:
    """Returns the subscriptions for which a report is muted."""
    query = "SELECT subscription_id FROM muted_report WHERE report_id = %s"
    return values(connection, int).execute(query, [report_id]).fetchall()


def count_of_token(connection: Connection[Any], token_id: int) -> int:
    """Returns how many subscriptions of a token have not ended."""
    query = "SELECT count(*) FROM subscription WHERE token_id = %s AND ended IS NULL"
    return fetch_single_row(values(connection, int).execute(query, [token_id]))
