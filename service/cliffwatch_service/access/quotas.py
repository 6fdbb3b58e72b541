"""Daily quotas of a token (UTC): runs started and bytes uploaded."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar

from psycopg import Connection

from cliffwatch.counting import count_noun
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import runs, tokens


class _Kept(Protocol):
    """The result of storing an upload."""

    @property
    def fresh(self) -> bool:
        """False if the upload was stored before: it costs nothing then."""


T = TypeVar("T", bound=_Kept)


def within_quota(
    connection: Connection[Any],
    settings: Settings,
    caller: Caller,
    size: int,
    now: datetime,
    keep: Callable[[], T],
) -> T:
    """Stores a body of `size` bytes and counts it against the quota. Raises Refusal.

    Counting comes last, so that the counter is locked briefly. A body that was stored before costs nothing.
    """
    assert caller.token_id is not None
    most = settings.upload_bytes_per_day
    if size > most:
        raise Refusal(
            413,
            "over the quota",
            f"a token may store {most} bytes a day, and this body alone has {size}: send less",
        )
    stored = keep()
    if stored.fresh:
        used = tokens.add_bytes(connection, caller.token_id, now.astimezone(UTC).date(), size)
        if used > most:
            raise _refuse_over_quota(caller, f"{used - size} of {most} bytes", "upload_bytes_per_day", now)
    return stored


def refuse_run_over_quota(
    connection: Connection[Any], settings: Settings, caller: Caller, digest: str, now: datetime
) -> None:
    """Raises Refusal if a new run would exceed the token's quota for today."""
    assert caller.token_id is not None
    if runs.run_row(connection, digest) is not None:
        return
    begun = runs.begun_since(connection, caller.token_id, _midnight(now))
    if begun >= settings.runs_per_day:
        share = count_noun(settings.runs_per_day, "run")
        raise _refuse_over_quota(caller, f"{begun} of {share}", "runs_per_day", now)


def _midnight(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _refuse_over_quota(caller: Caller, what: str, setting: str, now: datetime) -> Refusal:
    left = _midnight(now) + timedelta(days=1) - now
    return Refusal(
        429,
        "over the quota",
        f"token {caller.name!r} has stored {what} of today (UTC):"
        f" send the rest tomorrow, or have the operator raise CLIFFWATCH_{setting.upper()}",
        retry_after=max(1, int(left.total_seconds())),
    )
