"""The one place of the service that reads the clock."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)
