"""Removes old data: raw outputs and records of webhooks. Samples and data of released kernels stay."""

from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

from cliffwatch_service.github.webhooks.deliveries import KEPT_DAYS
from cliffwatch_service.store import boots
from cliffwatch_service.store.github import deliveries


def apply_retention(connection: Connection[Any], days: int | None, now: datetime) -> int:
    """Removes raw outputs older than `days`; None keeps all. Returns the number of boots."""
    return 0 if days is None else boots.remove_raw(connection, now - timedelta(days=days))


def forget_deliveries(connection: Connection[Any], now: datetime) -> int:
    """Removes the records of old webhook deliveries. Returns their number."""
    return deliveries.remove_deliveries(connection, now - timedelta(days=KEPT_DAYS))
