"""What comes of sending news, and when it is tried again."""

from dataclasses import dataclass
from datetime import datetime, timedelta

MOST_TRIES = 14
"""A day and a half: a server that was away over a night or two gets what it missed."""

_LONGEST_WAIT = timedelta(hours=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """It came there; later news of the report answer `thread`."""

    thread: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    """Why not. It is tried again, after `wait` seconds at least, unless that is of no use."""

    reason: str
    wait: float = 0.0
    for_good: bool = False


def next_try(attempts: int, now: datetime, problem: NotSent) -> datetime | None:
    """When it is tried again after so many attempts: in one minute, two, four, … up to six hours; None where
    it is given up.
    """
    if problem.for_good or attempts >= MOST_TRIES:
        return None
    wait = min(timedelta(minutes=2 ** (attempts - 1)), _LONGEST_WAIT)
    return now + max(wait, timedelta(seconds=problem.wait))
