"""What was stored under each token on each day."""

from datetime import date
from typing import Any

from psycopg import Connection


def add_bytes(connection: Connection[Any], token_id: int, day: date, size: int) -> int:
    """How many the day has then."""
    row = connection.execute(
        "INSERT INTO uploaded (token_id, day, bytes) VALUES (%s, %s, %s)"
        " ON CONFLICT (token_id, day) DO UPDATE SET bytes = uploaded.bytes + excluded.bytes RETURNING bytes",
        [token_id, day, size],
    ).fetchone()
    assert row is not None
    return int(row["bytes"])
