"""The outcome of sending news, and the time of the next attempt."""

from dataclasses import dataclass
from datetime import datetime, timedelta

MOST_TRIES = 14
"""About a day and a half, so that a server that is down overnight misses nothing."""

_LONGEST_WAIT = timedelta(hours=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The news was sent."""

    thread: str | None
    """Thread that later news of the report answers; None if the channel has no threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    """The news was not sent."""

    reason: str
    wait: float = 0.0
    """Least seconds before the next attempt."""
    for_good: bool = False
    """True if another attempt is useless."""


def next_try(attempts: int, now: datetime, problem: NotSent) -> datetime | None:
    """Returns the time of the next attempt; None to give up.

    Exponential backoff: one minute after the first attempt, then two, four, … up to six hours.
    """
    if problem.for_good or attempts >= MOST_TRIES:
        return None
    wait = min(timedelta(minutes=2 ** (attempts - 1)), _LONGEST_WAIT)
    return now + max(wait, timedelta(seconds=problem.wait))
