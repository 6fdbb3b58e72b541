"""What may go after a while: raw outputs, never samples, and nothing of a released kernel."""

from datetime import datetime, timedelta
from typing import Any

from psycopg import Connection

from cliffwatch_service.store import boots


def apply_retention(connection: Connection[Any], days: int | None, now: datetime) -> int:
    """Removes raw outputs older than `days`, none where that is None; how many boots'."""
    return 0 if days is None else boots.remove_raw(connection, now - timedelta(days=days))
