"""Accepts each webhook delivery once. Background tasks do the work, so that the answer is quick."""

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
"""How long deliveries are remembered. GitHub redelivers for three days.

A later copy only causes another look at GitHub (`github.webhooks.looks`).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A webhook with a verified signature."""

    identity: UUID
    event: str
    payload: Any


def take_delivery(connection: Connection[Any], delivery: Delivery, github_web: str, now: datetime) -> bool:
    """Requests the background tasks for a delivery. Returns whether the delivery was new."""
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
    """Returns the followed branches of this name in trees at `address`, with or without `.git`."""
    wanted = {read_address(address), read_address(f"{address}.git")}
    return [
        row.id
        for row in follows.list_follows(connection)
        if row.branch == branch and read_address(row.tree) in wanted
    ]
