"""What every endpoint has at hand: the service's parts, and who is asking."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, cast

import psycopg
from fastapi import Depends, Query, Request
from fastapi.security import HTTPBearer
from psycopg import Connection
from psycopg_pool import ConnectionPool, PoolTimeout

from cliffwatch_service.access import NOBODY, PUBLIC, Caller, Scope, caller_of, refuse_unless
from cliffwatch_service.columns import ColumnsKnown
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.settings import Settings
from cliffwatch_service.store import marks

_MOST_WATCHED = 10_000
_LOOKED_AT_EVERY = timedelta(minutes=1)


class Rates:
    """How many requests each caller may make: a bucket that fills all the time and holds a minute's worth."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._held: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def allow(self, who: str, now: datetime) -> bool:
        second = now.timestamp()
        with self._lock:
            if len(self._held) >= _MOST_WATCHED:
                self._held.clear()
            left, then = self._held.get(who, (float(self._per_minute), second))
            left = min(self._per_minute, left + max(0.0, second - then) * self._per_minute / 60)
            self._held[who] = (left - 1 if left >= 1 else left, second)
        return left >= 1


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of a running service. `now` is its clock, `session_key` what signs the cookies of browsers."""

    settings: Settings
    pool: ConnectionPool[Any]
    now: Callable[[], datetime]
    rates: Rates
    session_key: str
    columns: ColumnsKnown = field(default_factory=ColumnsKnown)
    _demonstration: dict[str, Any] = field(default_factory=dict)

    def demonstration(self) -> bool:
        """Whether the database was filled by `cliffwatch demo-data`; pages and reports say so.

        Looked at once a minute at most, and never a reason to fail: pages tell of a database that is away, too.
        """
        known = bool(self._demonstration.get("known"))
        looked = self._demonstration.get("looked")
        if known or (looked is not None and self.now() - looked < _LOOKED_AT_EVERY):
            return known
        self._demonstration["looked"] = self.now()
        try:
            with self.transaction() as connection:
                self._demonstration["known"] = marks.is_demonstration(connection)
        except (psycopg.Error, PoolTimeout):
            return known
        return bool(self._demonstration["known"])

    @contextmanager
    def transaction(self) -> Iterator[Connection[Any]]:
        """A connection whose transaction is committed at the end, before anybody is answered, or undone by an exception."""
        with self.pool.connection() as connection:
            yield connection


def service_of(request: Request) -> Service:
    return cast("Service", request.app.state.service)


ServiceHere = Annotated[Service, Depends(service_of)]

_bearer = HTTPBearer(auto_error=False, description="A token of `cliffwatch token make`.")


def _caller(request: Request, service: ServiceHere, _: Annotated[Any, Depends(_bearer)]) -> Caller:
    """The caller, within his rate. Raises Refusal."""
    kind, _space, secret = request.headers.get("authorization", "").partition(" ")
    address = request.client.host if request.client else "unknown"
    if not kind:
        caller = PUBLIC if service.settings.public_reading else NOBODY
    elif kind.lower() != "bearer" or not secret.strip():
        raise Refusal(401, "token refused", "send a token as `Authorization: Bearer …`")
    else:
        caller = caller_by_secret(service, address, secret.strip())
    return within_rate(service, caller, address)


def caller_by_secret(service: Service, address: str, secret: str) -> Caller:
    """Whose token this is; an address may guess no faster than it may ask. Raises Refusal."""
    now = service.now()
    if not service.rates.allow(f"guess {address}", now):
        raise _too_many()
    with service.transaction() as connection:
        return caller_of(connection, secret, now)


def within_rate(service: Service, caller: Caller, address: str) -> Caller:
    """The caller, if he has not asked too often. Raises Refusal."""
    now = service.now()
    if not service.rates.allow(f"token {caller.token_id}" if caller.token_id is not None else f"at {address}", now):
        raise _too_many()
    return caller


def _too_many() -> Refusal:
    return Refusal(429, "too many requests", "wait a few seconds and ask less often")


CallerHere = Annotated[Caller, Depends(_caller)]


def needs(scope: Scope) -> Any:
    """A dependency that refuses callers without a scope and hands the others on."""

    def allowed(caller: CallerHere) -> Caller:
        refuse_unless(caller, scope)
        return caller

    return Depends(allowed)


Reader = Annotated[Caller, needs("read")]
Uploader = Annotated[Caller, needs("upload")]
Worker = Annotated[Caller, needs("work")]
Triager = Annotated[Caller, needs("triage")]
Admin = Annotated[Caller, needs("admin")]

Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most")]
Cursor = Annotated[str | None, Query(max_length=300, description="`next` of the page before")]
PlatformName = Annotated[str | None, Query(max_length=200)]
ModeName = Annotated[str | None, Query(pattern="^(walltime|icount)$")]
