"""The runner's only access to the clock. Decisions that depend on time take the time as an argument."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Returns the wall-clock time in UTC, for records."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Returns seconds that never go backwards, for durations and deadlines."""
    return time.monotonic()


def pause(seconds: float) -> None:
    """Sleeps between polls, where no event can be waited for (a lock that another process holds)."""
    time.sleep(seconds)
