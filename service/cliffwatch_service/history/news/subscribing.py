"""Creates, mutes and ends subscriptions. The settings say which addresses are allowed."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.history.triage import find_report
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.runtime.destinations import allows_mail, allows_repository, allows_webhook
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import tokens
from cliffwatch_service.store.history.news import subscriptions
from cliffwatch_service.store.history.news.subscriptions import Channel, SubscriptionFacts, SubscriptionRow

MOST_EACH = 20
"""Most subscriptions per token."""

FOR_EVER = timedelta(days=365 * 50)
"""How long a subscription is muted if no end is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A requested subscription: where the news goes, and its filters. An empty filter matches all news."""

    channel: Channel
    address: str
    authors: Sequence[str] = ()
    subsystems: Sequence[str] = ()
    suites: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSubscription:
    """A new subscription."""

    id: int
    secret: str | None
    """Signs the bodies of a webhook, and is shown only once; None for other channels."""


def subscribe(
    connection: Connection[Any], wanted: Wanted, caller: Caller, settings: Settings, now: datetime
) -> NewSubscription:
    """Creates a subscription for the caller's token.

    Raises Refusal if the address is not allowed or has a subscription already, or if the token has too many.
    """
    assert caller.token_id is not None
    _refuse_address(wanted.channel, wanted.address, settings)
    if subscriptions.count_of_token(connection, caller.token_id) >= MOST_EACH:
        raise Refusal(
            409,
            "too many subscriptions",
            f"one token has at most {MOST_EACH}: end one, or let one take more suites",
        )
    secret = secrets.token_urlsafe(32) if wanted.channel == "webhook" else None
    facts = SubscriptionFacts(
        token_id=caller.token_id,
        channel=wanted.channel,
        address=wanted.address,
        secret=secret,
        authors=list(wanted.authors),
        subsystems=list(wanted.subsystems),
        suites=list(wanted.suites),
        created=now,
    )
    number = subscriptions.insert_subscription(connection, facts)
    if number is None:
        raise Refusal(
            409,
            "subscribed already",
            f"{wanted.address!r} has a subscription: whoever made it, or an administrator, ends it before"
            " another is made",
        )
    _audit(connection, caller, "subscribe", number, now)
    return NewSubscription(id=number, secret=secret)


def _refuse_address(channel: Channel, address: str, settings: Settings) -> None:
    allowed, setting = {
        "mail": (allows_mail(settings.news_mail, address), "CLIFFWATCH_NEWS_MAIL"),
        "webhook": (allows_webhook(settings.news_webhooks, address), "CLIFFWATCH_NEWS_WEBHOOKS"),
        "issue": (allows_repository(settings.news_repositories, address), "CLIFFWATCH_NEWS_REPOSITORIES"),
    }[channel]
    if not allowed:
        raise Refusal(
            422,
            "address not allowed",
            f"nothing is sent to {address[:200]!r}: an operator allows addresses of {channel} with {setting}",
        )


def subscription_of(connection: Connection[Any], number: int, caller: Caller) -> SubscriptionRow:
    """Returns a subscription that the caller may change.

    Raises Refusal if there is none, or if it belongs to another token. The refusal does not name that token.
    """
    row = subscriptions.subscription_row(connection, number)
    if row is None:
        raise not_found("subscription", str(number))
    if not caller.may("admin") and row.token_id != caller.token_id:
        raise Refusal(
            403,
            "another's subscription",
            f"token {caller.name!r} did not make subscription {number}: change it with the token that did, or"
            " as an administrator",
        )
    return row


def subscriptions_for(connection: Connection[Any], caller: Caller) -> list[SubscriptionRow]:
    """Returns the caller's subscriptions, or all of them for an administrator."""
    return subscriptions.live_subscriptions(connection, None if caller.may("admin") else caller.token_id)


def end_subscription(connection: Connection[Any], number: int, caller: Caller, now: datetime) -> None:
    subscriptions.end_subscription(connection, subscription_of(connection, number, caller).id, now)
    _audit(connection, caller, "end subscription", number, now)


def mute(
    connection: Connection[Any],
    number: int,
    caller: Caller,
    *,
    days: int | None,
    report: str | None,
    now: datetime,
) -> None:
    """Mutes a subscription for `days`: for ever if None; 0 unmutes it.

    If `report` is given, mutes only the news of that report, for ever.
    """
    row = subscription_of(connection, number, caller)
    if report is not None:
        subscriptions.mute_report(connection, row.id, find_report(connection, report).id)
    else:
        until = None if days == 0 else now + (FOR_EVER if days is None else timedelta(days=days))
        subscriptions.mute(connection, row.id, until)
    _audit(connection, caller, "mute", number, now)


def _audit(connection: Connection[Any], caller: Caller, action: str, number: int, now: datetime) -> None:
    tokens.write_audit(connection, who=caller.name, action=action, what=str(number), detail={}, now=now)
