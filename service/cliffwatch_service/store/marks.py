"""What a database says of itself."""

from datetime import datetime
from typing import Any

from psycopg import Connection


def is_demonstration(connection: Connection[Any]) -> bool:
    return connection.execute("SELECT 1 FROM demonstration").fetchone() is not None


def mark_demonstration(connection: Connection[Any], now: datetime) -> None:
    connection.execute("INSERT INTO demonstration (made) VALUES (%s) ON CONFLICT DO NOTHING", [now])


def holds_results(connection: Connection[Any]) -> bool:
    return connection.execute("SELECT 1 FROM run UNION ALL SELECT 1 FROM request LIMIT 1").fetchone() is not None
