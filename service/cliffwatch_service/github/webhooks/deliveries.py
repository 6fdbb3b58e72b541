"""Takes webhooks: each delivery once, and quickly. What is to be done for one is done by background tasks."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection

from cliffwatch.trees.addresses import read_address
from cliffwatch_service.github.webhooks.looks import (
    CommandLook,
    InstallationLook,
    Look,
    PullRequestLook,
    PushLook,
    looks_of,
)
from cliffwatch_service.store import background, follows
from cliffwatch_service.store.github import deliveries

KEPT_DAYS = 30
"""For which deliveries are known. GitHub sends one again for three days; later copies cost a look (see
`webhooks`).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A webhook whose signature is good."""

    identity: UUID
    event: str
    payload: Any


def take_delivery(connection: Connection[Any], delivery: Delivery, github_web: str, now: datetime) -> bool:
    """Asks for what a delivery is about; whether it was new."""
    action = delivery.payload.get("action") if isinstance(delivery.payload, dict) else None
    action = action[:100] if isinstance(action, str) else None
    if not deliveries.keep_delivery(connection, delivery.identity, delivery.event, action, now):
        return False
    for look in looks_of(delivery.event, delivery.payload):
        _ask(connection, look, github_web, now)
    return True


def _ask(connection: Connection[Any], look: Look, github_web: str, now: datetime) -> None:
    match look:
        case InstallationLook(installation):
            background.ask_installation(connection, installation)
        case PushLook(repository, branch):
            for number in _followed_branches(connection, f"{github_web}/{repository}", branch):
                background.ask_poll(connection, number)
        case PullRequestLook(installation, repository, number):
            background.ask_pull_request(connection, installation, repository, number)
        case CommandLook(installation, repository, number, comment):
            deliveries.keep_command(
                connection, comment=comment, repository=repository, number=number, now=now
            )
            background.ask_command(connection, installation, repository, number, comment)


def _followed_branches(connection: Connection[Any], address: str, branch: str) -> list[int]:
    """The followed branches of this name whose tree is at the repository's address, with or
    without `.git`.
    """
    wanted = {read_address(address), read_address(f"{address}.git")}
    return [
        row.id
        for row in follows.list_follows(connection)
        if row.branch == branch and read_address(row.tree) in wanted
    ]
