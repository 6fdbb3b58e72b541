"""The only reader of the clock in the runner; decisions that depend on time take it as an argument."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Wall clock, UTC, for records."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Seconds that never run backwards, for durations and deadlines."""
    return time.monotonic()


def pause(seconds: float) -> None:
    """Waits, where nothing can be waited for (a lock that another process holds)."""
    time.sleep(seconds)
