"""What may go after a while: raw outputs, never samples, and nothing of a released kernel; and which webhooks came."""

from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

from cliffwatch_service.github.webhooks.deliveries import KEPT_DAYS
from cliffwatch_service.store import boots
from cliffwatch_service.store.github import deliveries


def apply_retention(connection: Connection[Any], days: int | None, now: datetime) -> int:
    """Removes raw outputs older than `days`, none where that is None; how many boots'."""
    return 0 if days is None else boots.remove_raw(connection, now - timedelta(days=days))


def forget_deliveries(connection: Connection[Any], now: datetime) -> int:
    """Forgets which webhooks came long ago; how many."""
    return deliveries.remove_deliveries(connection, now - timedelta(days=KEPT_DAYS))
