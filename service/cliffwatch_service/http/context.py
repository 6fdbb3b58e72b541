"""What every endpoint has at hand: the service's parts, and who is asking."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, cast

import psycopg
from fastapi import Depends, Query, Request
from fastapi.security import HTTPBearer
from psycopg import Connection
from psycopg_pool import ConnectionPool, PoolTimeout

from cliffwatch.samples import MODES
from cliffwatch_service.access.authorisation import refuse_without_right
from cliffwatch_service.access.tokens import NOBODY, PUBLIC, Caller, caller_of
from cliffwatch_service.github.actions.signing_keys import SigningKeys
from cliffwatch_service.http.addresses import address_of
from cliffwatch_service.http.room import Room
from cliffwatch_service.ingest.columns import ColumnsKnown
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import database
from cliffwatch_service.store.history.measured_arms import MeasuredArms

PREFIX = "/api/v1"
"""Of the addresses for programs."""

_MOST_WATCHED = 10_000
"""Callers whose rates are known at once: beyond that, those are forgotten who did not ask for longest."""

_LOOKED_AT_EVERY = timedelta(minutes=1)


class Rates:
    """How many requests each caller may make: a bucket that fills all the time and holds a minute's worth."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def allow(self, who: str, now: datetime) -> bool:
        second = now.timestamp()
        with self._lock:
            left, then = self._buckets.pop(who, (float(self._per_minute), second))
            if len(self._buckets) >= _MOST_WATCHED:
                del self._buckets[next(iter(self._buckets))]
            left = min(self._per_minute, left + max(0.0, second - then) * self._per_minute / 60)
            self._buckets[who] = (left - 1 if left >= 1 else left, second)
        return left >= 1


@dataclass(slots=True)
class _Looked:
    """Whether the database is a demonstration, and when that was looked at last."""

    known: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of a running service. `now` is its clock, `session_key` what signs the cookies of browsers."""

    settings: Settings
    pool: ConnectionPool[Any]
    now: Callable[[], datetime]
    rates: Rates
    session_key: str
    columns: ColumnsKnown = field(default_factory=ColumnsKnown)
    arms: MeasuredArms = field(default_factory=MeasuredArms)
    signing_keys: SigningKeys = field(default_factory=SigningKeys)
    streams: Room = field(default_factory=lambda: Room("event streams", whole=100, each=16))
    exports: Room = field(default_factory=lambda: Room("exports", whole=8, each=4))
    _demonstration: _Looked = field(default_factory=_Looked)

    def demonstration(self) -> bool:
        """Whether the database was filled by `cliffwatch demo-data`; pages and reports say so.

        Looked at once a minute at most, and never a reason to fail: pages report a database that is away, too.
        """
        found = self._demonstration
        if found.known or (found.at is not None and self.now() - found.at < _LOOKED_AT_EVERY):
            return found.known
        found.at = self.now()
        with suppress(psycopg.Error, PoolTimeout), self.transaction() as connection:
            found.known = database.is_demonstration(connection)
        return found.known

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
    """The caller, within his rate; who was admitted for writing is known already. Raises Refusal."""
    admitted: Caller | None = getattr(request.state, "caller", None)
    return caller_of_request(request, service) if admitted is None else admitted


def caller_of_request(request: Request, service: Service) -> Caller:
    """The caller by his token, within his rate. Raises Refusal."""
    kind, _space, secret = request.headers.get("authorization", "").partition(" ")
    address = address_of(request.scope)
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
        raise too_many()
    with service.transaction() as connection:
        return caller_of(connection, secret, now)


def within_rate(service: Service, caller: Caller, address: str) -> Caller:
    """The caller, if he has not asked too often. Raises Refusal."""
    now = service.now()
    if not service.rates.allow(
        f"token {caller.token_id}" if caller.token_id is not None else f"at {address}", now
    ):
        raise too_many()
    return caller


def too_many() -> Refusal:
    return Refusal(429, "too many requests", "wait a few seconds and ask less often")


CallerHere = Annotated[Caller, Depends(_caller)]


def operation_of(request: Request) -> str:
    """The name of what is asked in the table of rights: method, and path as the description has it."""
    return f"{request.method} {request.scope['route'].path_format}"


def _allowed(request: Request, caller: CallerHere) -> Caller:
    refuse_without_right(caller, operation_of(request))
    return caller


Allowed = Annotated[Caller, Depends(_allowed)]
"""The caller, who may do such a thing (the table of rights); whether to this one, the use case says."""

Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most")]
Cursor = Annotated[str | None, Query(max_length=300, description="`next` of the page before")]
PlatformName = Annotated[str | None, Query(max_length=200)]
ModeName = Annotated[str | None, Query(pattern=f"^({'|'.join(MODES)})$")]
