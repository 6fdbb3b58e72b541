"""Connection limits that uvicorn lacks: connections per address, time for headers, time to read a response.

Idle connections do not keep others out: if there are too many connections, the longest idle one is closed.
"""

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from cliffwatch_service.http.addresses import origin_of

HEAD_SECONDS = 10.0
"""Longest time for headers, from the start of a connection or the first byte of a further request."""

UNREAD_SECONDS = 60.0
"""Longest time that a client may leave 48 KiB of a response unread."""

_FAREWELL_SECONDS = 5.0
"""Time between closing a connection and aborting it."""

_HEAD_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"
)
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"
)


class Connections:
    """Counts open connections. Proxies may open any number; limiting their clients is their own task.

    - `whole`: most connections in all.
    - `each`: most connections of one address.
    - `proxies`: networks without a limit per address.
    """

    def __init__(self, *, whole: int, each: int, proxies: Sequence[str]) -> None:
        self._whole, self._each = whole, each
        self._proxies = [ipaddress.ip_network(each, strict=False) for each in proxies]
        self._by_origin: Counter[str] = Counter()
        self._open = 0
        self._waiting: dict[LimitedProtocol, None] = {}

    def refusal(self, peer: str) -> bytes | None:
        """Returns the response to a connection that is over a limit; None if it may stay.

        If all connections are taken, closes the longest idle one to make room.
        """
        if self._by_origin[origin_of(peer)] >= self._each and not self._is_proxy(peer):
            return _TOO_MANY
        if self._open >= self._whole:
            if not self._waiting:
                return _FULL
            next(iter(self._waiting)).leave(_FULL)
        return None

    def add(self, origin: str) -> None:
        self._by_origin[origin] += 1
        self._open += 1

    def remove(self, origin: str) -> None:
        self._open -= 1
        self._by_origin[origin] -= 1
        if self._by_origin[origin] <= 0:
            del self._by_origin[origin]

    def waits(self, protocol: "LimitedProtocol") -> None:
        """Marks a connection as idle, from now on."""
        self._waiting.pop(protocol, None)
        self._waiting[protocol] = None

    def is_busy(self, protocol: "LimitedProtocol") -> None:
        """Marks a connection as not idle."""
        self._waiting.pop(protocol, None)

    def _is_proxy(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        return any(address in proxy for proxy in self._proxies)


class LimitedProtocol(H11Protocol):
    """Uvicorn's HTTP protocol with these limits."""

    guard: Connections
    """Set by the subclass that `make_protocol` makes for a server."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._origin: str | None = None
        self._head: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        name = transport.get_extra_info("peername")
        peer = str(name[0]) if name else "unknown"
        refusal = self.guard.refusal(peer)
        if refusal is not None:
            transport.write(refusal)
            transport.close()
            return
        self._origin = origin_of(peer)
        self.guard.add(self._origin)
        self.guard.waits(self)
        _end_unread(transport)
        super().connection_made(transport)
        self._head = self.loop.call_later(HEAD_SECONDS, self.leave, _HEAD_LATE)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._origin is None:
            return
        self._cancel_head()
        self._cancel_unread()
        self.guard.is_busy(self)
        self.guard.remove(self._origin)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._origin is None or self.transport.is_closing():
            return
        super().data_received(data)
        if self._serving():
            self._cancel_head()
            self.guard.is_busy(self)
        elif self._head is None:
            self._head = self.loop.call_later(HEAD_SECONDS, self.leave, _HEAD_LATE)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._serving() and not self.transport.is_closing():
            self.guard.waits(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self._unread or self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_unread()

    def leave(self, answer: bytes) -> None:
        """Sends a last response on an idle connection and closes it."""
        self.guard.is_busy(self)
        self._cancel_head()
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()
            self.loop.call_later(_FAREWELL_SECONDS, self.transport.abort)

    def _serving(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _cancel_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _cancel_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def _end_unread(transport: asyncio.Transport) -> None:
    """Has the kernel abort a connection whose client stops reading.

    After a response ends, its last bytes are in the kernel's buffers, where our own timer does not see them.
    """
    client = transport.get_extra_info("socket")
    if client is not None and client.family in (socket.AF_INET, socket.AF_INET6):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNREAD_SECONDS * 1000))


def make_protocol(guard: Connections) -> type[LimitedProtocol]:
    """Makes the protocol class of one server."""
    return type("GuardedHere", (LimitedProtocol,), {"guard": guard})
