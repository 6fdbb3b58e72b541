"""The service's clock. No other module of the service reads the time."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)
