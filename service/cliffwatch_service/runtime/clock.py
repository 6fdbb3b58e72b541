"""The clock: the one module of the service that reads it."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)
