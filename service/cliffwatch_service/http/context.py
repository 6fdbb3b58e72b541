"""What every endpoint can depend on: the service's parts and the authenticated caller."""

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
from cliffwatch_service.http.logging import name_in_log
from cliffwatch_service.http.room import Room
from cliffwatch_service.ingest.columns import ColumnsCache
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import database
from cliffwatch_service.store.history.measured_arms import MeasuredArms

PREFIX = "/api/v1"
"""Path prefix of the API."""

_MOST_WATCHED = 10_000
"""Most callers whose rates are tracked. Beyond that, the caller with the oldest request is forgotten."""

_LOOKED_AT_EVERY = timedelta(minutes=1)
"""Shortest time between two checks whether the database is a demonstration."""


class Rates:
    """Rate limit of each caller: a token bucket that holds one minute's requests."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def allow(self, who: str, now: datetime) -> bool:
        """Counts a request of `who`. Returns False if the caller is over the limit."""
        second = now.timestamp()
        with self._lock:
            left, then = self._buckets.pop(who, (float(self._per_minute), second))
            if len(self._buckets) >= _MOST_WATCHED:
                del self._buckets[next(iter(self._buckets))]
            left = min(self._per_minute, left + max(0.0, second - then) * self._per_minute / 60)
            self._buckets[who] = (left - 1 if left >= 1 else left, second)
        return left >= 1


@dataclass(slots=True)
class _DemonstrationCheck:
    """Cached answer to whether the database is a demonstration."""

    known: bool = False
    """True once the database is known to be a demonstration; that never changes back."""

    at: datetime | None = None
    """Time of the last check; None before the first."""


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of a running service."""

    settings: Settings
    pool: ConnectionPool[Any]
    now: Callable[[], datetime]
    """The service's clock."""

    rates: Rates
    session_key: str
    """Signs the browsers' cookies."""

    columns: ColumnsCache = field(default_factory=ColumnsCache)
    arms: MeasuredArms = field(default_factory=MeasuredArms)
    signing_keys: SigningKeys = field(default_factory=SigningKeys)
    streams: Room = field(default_factory=lambda: Room("event streams", whole=100, each=16))
    exports: Room = field(default_factory=lambda: Room("exports", whole=8, each=4))
    _demonstration: _DemonstrationCheck = field(default_factory=_DemonstrationCheck)

    def demonstration(self) -> bool:
        """Whether `cliffwatch demo-data` filled the database. Pages and reports say so.

        Queries the database at most once a minute. Never fails, because the page that reports an unreachable
        database asks too.
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
        """A connection with a transaction: committed at the end of the block, rolled back by an exception."""
        with self.pool.connection() as connection:
            yield connection


def service_of(request: Request) -> Service:
    return cast("Service", request.app.state.service)


ServiceHere = Annotated[Service, Depends(service_of)]

_bearer = HTTPBearer(auto_error=False, description="A token of `cliffwatch token make`.")


def _caller(request: Request, service: ServiceHere, _: Annotated[Any, Depends(_bearer)]) -> Caller:
    """The caller, if within the rate limit. `Admission` may have authenticated it already. Raises Refusal."""
    admitted: Caller | None = getattr(request.state, "caller", None)
    return caller_of_request(request, service) if admitted is None else admitted


def caller_of_request(request: Request, service: Service) -> Caller:
    """Authenticates the caller by its token and applies the rate limit. Raises Refusal."""
    kind, _space, secret = request.headers.get("authorization", "").partition(" ")
    address = address_of(request.scope)
    if not kind:
        caller = PUBLIC if service.settings.public_reading else NOBODY
    elif kind.lower() != "bearer" or not secret.strip():
        raise Refusal(401, "token refused", "send a token as `Authorization: Bearer …`")
    else:
        caller = caller_by_secret(service, address, secret.strip())
        name_in_log(request, caller)
    return check_rate(service, caller, address)


def caller_by_secret(service: Service, address: str, secret: str) -> Caller:
    """The owner of a token. Guesses count against the address's own rate limit. Raises Refusal."""
    now = service.now()
    if not service.rates.allow(f"guess {address}", now):
        raise too_many()
    with service.transaction() as connection:
        return caller_of(connection, secret, now)


def check_rate(service: Service, caller: Caller, address: str) -> Caller:
    """Returns the caller if it is within its rate limit. Raises Refusal otherwise."""
    now = service.now()
    if not service.rates.allow(
        f"token {caller.token_id}" if caller.token_id is not None else f"at {address}", now
    ):
        raise too_many()
    return caller


def too_many() -> Refusal:
    return Refusal(429, "too many requests", "wait a few seconds and send requests less often")


CallerHere = Annotated[Caller, Depends(_caller)]


def operation_of(request: Request) -> str:
    """The operation's name in the table of rights: the method and the path template of the route."""
    return f"{request.method} {request.scope['route'].path_format}"


def _authorise(request: Request, caller: CallerHere) -> Caller:
    refuse_without_right(caller, operation_of(request))
    return caller


Allowed = Annotated[Caller, Depends(_authorise)]
"""The caller, who has the right to this kind of operation. The use case checks the right to the object."""

Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most")]
Cursor = Annotated[str | None, Query(max_length=300, description="`next` of the page before")]
PlatformName = Annotated[str | None, Query(max_length=200)]
ModeName = Annotated[str | None, Query(pattern=f"^({'|'.join(MODES)})$")]
